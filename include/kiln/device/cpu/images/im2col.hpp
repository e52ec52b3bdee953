// SPDX-License-Identifier: BSL-1.0
// im2col writes what lies under each place of a window as a column of a matrix, so that a convolution becomes a matrix
// product; col2im adds such a matrix back to where its elements came from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <kiln/core/window.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// to[i] += from[i].
template <class T>
void add_elements(T* to, const T* from, std::int64_t n) {
  constexpr int N = vector_bytes / static_cast<int>(sizeof(T));
  std::int64_t i = 0;
  for (; i + N <= n; i += N) store(to + i, load<N>(static_cast<const T*>(to + i)) + load<N>(from + i));
  for (; i < n; ++i) to[i] += from[i];
}

/// to[i] = from[i * step].
template <class T>
void copy_elements(T* to, const T* from, std::int64_t step, std::int64_t n) {
  if (step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
  }
}

/// Calls row(matrix_row, element, columns) for each row of the patch matrix and each row of the image it meets:
/// `columns` are those inside the image, the first of them is image element `element` of channel `channel`.
/// Rows in the padding give an empty range.
template <class Row>
void for_each_patch_row(const convolution_sizes& s, std::int64_t channels, index_range rows, Row&& row) {
  const auto& [kernel, stride, padding, dilation] = s.window;
  std::int64_t line = 0;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t ki = 0; ki < kernel.height; ++ki)
      for (std::int64_t kj = 0; kj < kernel.width; ++kj, ++line) {
        const std::int64_t left = kj * dilation.width - padding.width, top = ki * dilation.height - padding.height;
        const index_range columns = places_inside(left, stride.width, s.places.width, s.image.width);
        const index_range inside = places_inside(top, stride.height, s.places.height, s.image.height);
        for (std::int64_t r = rows.begin; r < rows.end; ++r) {
          const std::int64_t at = (line * rows.size() + r - rows.begin) * s.places.width;
          if (r < inside.begin || r >= inside.end || columns.size() == 0)
            row(at, std::int64_t{0}, index_range{0, 0});
          else
            row(at,
                (c * s.image.height + top + r * stride.height) * s.image.width + left + columns.begin * stride.width,
                columns);
        }
      }
}

}  // namespace detail

/// Writes the matrix of the patches of `channels` channels under the windows of some rows of the result: a row for each
/// channel and element of the kernel, a column for each place, zeros where the window reaches into the padding.
template <class T>
void im2col(const convolution_sizes& s, const T* image, std::int64_t channels, index_range rows, T* to) {
  const std::int64_t width = s.places.width;
  detail::for_each_patch_row(
      s, channels, rows, [=, step = s.window.stride.width](std::int64_t at, std::int64_t element, index_range columns) {
        std::fill_n(to + at, columns.begin, T(0));
        if (columns.size() > 0) detail::copy_elements(to + at + columns.begin, image + element, step, columns.size());
        std::fill_n(to + at + columns.end, width - columns.end, T(0));
      });
}

/// Adds the elements of such a matrix to those of the image that im2col would have taken them from.
template <class T>
void col2im(const convolution_sizes& s, const T* from, std::int64_t channels, index_range rows, T* image) {
  detail::for_each_patch_row(
      s, channels, rows, [=, step = s.window.stride.width](std::int64_t at, std::int64_t element, index_range columns) {
        const T* const values = from + at + columns.begin;
        T* const to = image + element;
        if (step == 1) {
          detail::add_elements(to, values, columns.size());
        } else {
          for (std::int64_t i = 0; i < columns.size(); ++i) to[i * step] += values[i];
        }
      });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
