// SPDX-License-Identifier: BSL-1.0
// Convolutions of float and double, and their gradients, over contiguous memory: each turns into matrix products of
// pieces whose patches (im2col) stay in cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/core/dims.hpp>
#include <kiln/device/cpu/images/im2col.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// A convolution cut into pieces: some rows of the result of one image.
struct convolution_pieces {
  static constexpr std::int64_t cache_bytes = std::int64_t{512} << 10;  // a quarter to a half of a common L2
  static constexpr std::int64_t fewest_columns = 192;                   // narrower products are slow

  std::int64_t rows;   ///< rows of the result in a piece; fewer in the last
  std::int64_t count;  ///< pieces of an image
  std::int64_t columns;

  convolution_pieces(const convolution_sizes& s, std::int64_t element_bytes) {
    const std::int64_t column_bytes = std::max<std::int64_t>(s.patch(), 1) * element_bytes;
    const std::int64_t width = std::max<std::int64_t>(s.places.width, 1);
    const std::int64_t wanted = std::max(cache_bytes / column_bytes, fewest_columns);
    rows = std::clamp<std::int64_t>(wanted / width, 1, std::max<std::int64_t>(s.places.height, 1));
    count = divide_up(s.places.height, rows);
    if (count > 0) rows = divide_up(s.places.height, count);
    columns = rows * width;
  }
  index_range range(const convolution_sizes& s, std::int64_t i) const {
    return {i * rows, std::min((i + 1) * rows, s.places.height)};
  }
};

/// How many elements the patches of a piece take. Throws shape_error if they cannot be counted.
inline std::int64_t patch_workspace(const convolution_sizes& s, const convolution_pieces& pieces) {
  return s.pointwise() ? 0 : kiln::count(dims{s.patch(), pieces.columns});
}

/// The patches of some rows of one group of one image as a matrix: a copy, or the image itself where that is one.
template <class T>
matrix_ref<const T> patches(const convolution_sizes& s, const T* image, index_range rows, T* workspace) {
  const std::int64_t width = s.places.width;
  if (s.pointwise()) return {image + rows.begin * width, s.places.area(), 1};
  const std::int64_t area = s.window.kernel.area(), columns = rows.size() * width;
  // On one thread already, when pieces go round among the threads.
  parallel_for(s.group_inputs(), 1 + 65536 / std::max<std::int64_t>(area * columns, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 im2col(s, image + begin * s.image.area(), end - begin, rows, workspace + begin * area * columns);
               });
  return {workspace, columns, 1};
}

// Work of about 10 us at least goes to another thread.
inline std::int64_t convolution_grain(std::int64_t multiplications) {
  return 1 + (std::int64_t{1} << 19) / std::max<std::int64_t>(multiplications, 1);
}

}  // namespace detail

/// y = x * w + bias, a cross-correlation as neural networks mean it; `bias` may be null.
template <class T>
void convolve(const convolution_sizes& s, const T* x, const T* w, const T* bias, T* y) {
  const detail::convolution_pieces pieces(s, sizeof(T));
  const std::int64_t inputs = s.group_inputs(), outputs = s.group_outputs(), patch = s.patch();
  const std::int64_t places = s.places.area(), tasks = s.batch * s.groups * pieces.count;
  const std::int64_t workspace_size = detail::patch_workspace(s, pieces);
  auto run = [&](std::int64_t task, T* workspace) {
    const index_range rows = pieces.range(s, task % pieces.count);
    const std::int64_t group = task / pieces.count % s.groups, image = task / pieces.count / s.groups;
    const matrix_ref<const T> columns =
        detail::patches(s, x + (image * s.channels + group * inputs) * s.image.area(), rows, workspace);
    const std::int64_t n = rows.size() * s.places.width, first = group * outputs;
    T* const to = y + (image * s.out_channels + first) * places + rows.begin * s.places.width;
    if (bias)
      for (std::int64_t o = 0; o < outputs; ++o) std::fill_n(to + o * places, n, bias[first + o]);
    gemm<T>(outputs, n, patch, {w + first * patch, patch, 1}, columns, to, places, bias != nullptr);
  };
  // Few pieces are each shared by all threads.
  const std::int64_t grain =
      tasks < num_threads() ? tasks : detail::convolution_grain(outputs * patch * pieces.columns);
  parallel_for(tasks, std::max<std::int64_t>(grain, 1), [&](std::int64_t begin, std::int64_t end) {
    const detail::gemm_scratch<T> workspace(workspace_size);
    for (std::int64_t i = begin; i < end; ++i) run(i, workspace.data());
  });
}

/// The gradient by x, given that by y, written to dx or added to it.
template <class T>
void convolve_backward_input(const convolution_sizes& s, const T* dy, const T* w, T* dx, bool add) {
  const detail::convolution_pieces pieces(s, sizeof(T));
  const std::int64_t inputs = s.group_inputs(), outputs = s.group_outputs(), patch = s.patch();
  const std::int64_t places = s.places.area(), area = s.window.kernel.area(), pixels = s.image.area();
  // Windows overlap, so pieces of one channel are added one after the other. The channels of a few images are cut into
  // parts, of 64 rows of patches and more: by sizes only, so that no sum depends on the number of threads.
  const std::int64_t pairs = s.batch * s.groups;
  const std::int64_t most = pairs == 0 ? 0 : std::min(detail::divide_up(8, pairs), inputs * area / 64);
  const std::int64_t parts = pairs == 0 || inputs == 0 ? 0 : std::clamp<std::int64_t>(most, 1, inputs);
  const std::int64_t workspace_size = detail::patch_workspace(s, pieces);
  auto run = [&](std::int64_t task, T* workspace) {
    const std::int64_t part = task % parts, group = task / parts % s.groups, image = task / parts / s.groups;
    const std::int64_t first = inputs * part / parts, channels = inputs * (part + 1) / parts - first;
    T* const to = dx + (image * s.channels + group * inputs + first) * pixels;
    const T* const from = dy + (image * s.out_channels + group * outputs) * places;
    const matrix_ref<const T> weight{w + group * outputs * patch + first * area, 1, patch};
    if (s.pointwise()) return gemm<T>(channels, places, outputs, weight, {from, places, 1}, to, places, add);
    if (!add) std::fill_n(to, channels * pixels, T(0));
    for (std::int64_t i = 0; i < pieces.count; ++i) {
      const index_range rows = pieces.range(s, i);
      const std::int64_t n = rows.size() * s.places.width;
      gemm<T>(channels * area, n, outputs, weight, {from + rows.begin * s.places.width, places, 1}, workspace, n);
      col2im(s, workspace, channels, rows, to);
    }
  };
  const std::int64_t work = outputs * patch * places / std::max<std::int64_t>(parts, 1);
  parallel_for(pairs * parts, detail::convolution_grain(work), [&](std::int64_t begin, std::int64_t end) {
    const detail::gemm_scratch<T> workspace(workspace_size);
    for (std::int64_t i = begin; i < end; ++i) run(i, workspace.data());
  });
}

/// The gradient by w, given that by y, written to dw or added to it. Pieces are added in an order that depends on the
/// sizes only.
template <class T>
void convolve_backward_weight(const convolution_sizes& s, const T* x, const T* dy, T* dw, bool add) {
  constexpr std::int64_t most_copies_bytes = std::int64_t{64} << 20;
  const detail::convolution_pieces pieces(s, sizeof(T));
  const std::int64_t inputs = s.group_inputs(), outputs = s.group_outputs(), patch = s.patch();
  const std::int64_t places = s.places.area(), tasks = s.batch * pieces.count, weights = s.weights();
  // Each slice of four pieces or more has sums of its own, unless those would fill the memory. How many there are must
  // not depend on the number of threads: the sums would.
  constexpr std::int64_t most_slices = 16;
  const std::int64_t bytes = std::max<std::int64_t>(weights, 1) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t wanted = tasks / detail::convolution_grain(weights * pieces.columns);
  const std::int64_t slices =
      std::max<std::int64_t>(1, std::min({most_slices, wanted, tasks / 4, 1 + most_copies_bytes / bytes}));
  const std::int64_t workspace_size = detail::patch_workspace(s, pieces);
  const detail::gemm_scratch<T> copies((slices - 1) * weights);
  parallel_for(slices, 1, [&](std::int64_t slice_begin, std::int64_t slice_end) {
    const detail::gemm_scratch<T> workspace(workspace_size);
    for (std::int64_t slice = slice_begin; slice < slice_end; ++slice) {
      T* const sums = slice == 0 ? dw : copies.data() + (slice - 1) * weights;
      const std::int64_t first = tasks * slice / slices, last = tasks * (slice + 1) / slices;
      if (first == last && !(add && slice == 0)) std::fill_n(sums, weights, T(0));
      for (std::int64_t group = 0; group < s.groups; ++group)
        for (std::int64_t task = first; task < last; ++task) {
          const index_range rows = pieces.range(s, task % pieces.count);
          const std::int64_t image = task / pieces.count, n = rows.size() * s.places.width;
          const matrix_ref<const T> columns =
              detail::patches(s, x + (image * s.channels + group * inputs) * s.image.area(), rows, workspace.data());
          const T* const from = dy + (image * s.out_channels + group * outputs) * places + rows.begin * s.places.width;
          gemm<T>(outputs, patch, n, {from, places, 1}, {columns.data, 1, columns.row_stride},
                  sums + group * outputs * patch, patch, task > first || (add && slice == 0));
        }
    }
  });
  if (slices == 1) return;
  parallel_for(weights, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i + 1 < slices; ++i)
      detail::add_elements(dw + begin, static_cast<const T*>(copies.data()) + i * weights + begin, end - begin);
  });
}

/// The gradient by the bias: the sum of dy over images and places, written to db or added to it.
template <class T>
void convolve_backward_bias(const convolution_sizes& s, const T* dy, T* db, bool add) {
  constexpr int N = vector_bytes / static_cast<int>(sizeof(T));
  constexpr std::int64_t run = 4096;  // elements added in T before the sum goes on in double
  const std::int64_t places = s.places.area();
  const auto sum_of = [](const T* p, std::int64_t n) {
    lanes<T, N> a(T(0)), b(T(0));
    std::int64_t i = 0;
    for (; i + 2 * N <= n; i += 2 * N) {
      a = a + load<N>(p + i);
      b = b + load<N>(p + i + N);
    }
    T sum = reduce_add(a + b);
    for (; i < n; ++i) sum += p[i];
    return static_cast<double>(sum);
  };
  const std::int64_t grain = 1 + 32768 / std::max<std::int64_t>(s.batch * places, 1);
  parallel_for(s.out_channels, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      double sum = 0;
      for (std::int64_t image = 0; image < s.batch; ++image) {
        const T* const from = dy + (image * s.out_channels + o) * places;
        for (std::int64_t i = 0; i < places; i += run) sum += sum_of(from + i, std::min(run, places - i));
      }
      db[o] = static_cast<T>(add ? static_cast<double>(db[o]) + sum : sum);
    }
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
