// SPDX-License-Identifier: BSL-1.0
// The largest element, or the average, under a window that moves over each of many images, and the gradients. The rows
// under a window are folded into one first, a vector at a time, or neighbouring windows are searched together; half
// types are computed in float.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <kiln/core/dtype.hpp>
#include <kiln/core/window.hpp>
#include <kiln/device/cpu/images/im2col.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_blocks.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

template <class T>
inline constexpr int pooling_lanes = vector_bytes / static_cast<int>(sizeof(compute_t<T>));

/// Room for a row of `width` elements and the rest of its last vector.
template <class T>
std::int64_t row_workspace(std::int64_t width) {
  return round_up(std::max<std::int64_t>(width, 1), pooling_lanes<T>);
}

/// Folds a row onto `to`, which has room for whole vectors.
template <class T, class F>
void fold_row(compute_t<T>* to, const T* from, std::int64_t n, F f) {
  constexpr int N = pooling_lanes<T>;
  for (std::int64_t i = 0; i < n; i += N) {
    const auto v = n - i >= N ? load<N>(from + i) : load_partial<N>(from + i, static_cast<int>(n - i));
    store(to + i, f(load<N>(static_cast<const compute_t<T>*>(to + i)), v));
  }
}

/// The elements of a kernel along an axis that lie inside the image, when its first stands at `at`.
constexpr index_range kernel_inside(std::int64_t at, std::int64_t kernel, std::int64_t dilation, std::int64_t size) {
  return places_inside(at, dilation, kernel, size);
}

/// Where the largest element under a window lies in its image: the first of equal ones, the last of nans, -1 for a
/// window of nothing but padding. (PyTorch's choice.)
template <class T>
std::int64_t place_of_largest(const pooling_sizes& s, const T* image, std::int64_t top, std::int64_t left,
                              index_range rows, index_range columns) {
  using C = compute_t<T>;
  std::int64_t found = -1;
  C best(0);
  for (std::int64_t i = rows.begin; i < rows.end; ++i)
    for (std::int64_t j = columns.begin; j < columns.end; ++j) {
      const std::int64_t at = (top + i * s.window.dilation.height) * s.image.width + left + j * s.window.dilation.width;
      const C v = static_cast<C>(image[at]);
      if (found < 0 || v > best || v != v) {
        found = at;
        best = v;
      }
    }
  return found;
}

/// from[i * step] for i < `count` (1 to N), and anything in the lanes beyond; no other elements are read.
template <int N, class T>
[[gnu::always_inline]] inline lanes<compute_t<T>, N> load_every(const T* from, std::int64_t step, int count) {
  if (step == 1) return count == N ? load<N>(from) : load_partial<N>(from, count);
  if (step == 2) {
    // Of the second vector the odd lanes: it ends with the last element that is needed.
    const auto first = count == N ? load<N>(from) : load_partial<N>(from, std::min(2 * count - 1, N));
    const int more = 2 * count - 1 - (N - 1);
    const auto second = count == N ? load<N>(from + (N - 1)) : load_partial<N>(from + (N - 1), std::max(more, 0));
    return [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
      return lanes<compute_t<T>, N>(
          __builtin_shufflevector(first.v, second.v, (I < N / 2 ? 2 * I : N + 2 * (I - N / 2) + 1)...));
    }
    (std::make_integer_sequence<int, N>{});
  }
  std::array<compute_t<T>, std::size_t{N}> all{};
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = static_cast<compute_t<T>>(from[i * step]);
  return load<N>(all.data());
}

/// The largest elements under neighbouring windows, and where each lies, counted from its window's first element.
template <class T>
struct largest_elements {
  using C = compute_t<T>;
  using place = signed_of<static_cast<int>(sizeof(C))>;
  static constexpr int N = pooling_lanes<T>;
  lanes<C, N> value;
  lanes<place, N> at;

  /// Of `count` (1 to N) windows, the first of which begins at `from`; `rows` of them are inside the image. The first
  /// of equal elements, the last of nans, as place_of_largest.
  [[gnu::always_inline]] largest_elements(const pooling_sizes& s, const T* from, index_range rows, int count)
      : value(
            load_every<N>(from + rows.begin * s.window.dilation.height * s.image.width, s.window.stride.width, count)),
        at(static_cast<place>(rows.begin * s.window.dilation.height * s.image.width)) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      for (std::int64_t j = i == rows.begin ? 1 : 0; j < s.window.kernel.width; ++j) {
        const std::int64_t offset = i * s.window.dilation.height * s.image.width + j * s.window.dilation.width;
        const auto v = load_every<N>(from + offset, s.window.stride.width, count);
        const auto larger = (v > value) | (v != v);
        value = where(larger, v, value);
        at = where(larger, lanes<place, N>(static_cast<place>(offset)), at);
      }
  }
};

/// The windows of a line of places: their rows inside the image, and the places whose columns all are inside.
struct pooling_line {
  std::int64_t top;
  index_range rows, whole;

  pooling_line(const pooling_sizes& s, std::int64_t number)
      : top(number * s.window.stride.height - s.window.padding.height),
        rows(kernel_inside(top, s.window.kernel.height, s.window.dilation.height, s.image.height)),
        whole{0, 0} {
    // Places in vectors are counted in 32 bits, and lines of a few windows are not worth vectors.
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (rows.size() == 0 || s.places.width < 4 || s.image.area() > most) return;
    const std::int64_t beyond = s.image.width + s.window.padding.width - s.window.reach().width;
    const std::int64_t first = divide_up(s.window.padding.width, s.window.stride.width);
    const std::int64_t end = beyond < 0 ? 0 : std::min(s.places.width, beyond / s.window.stride.width + 1);
    if (end > first) whole = {first, end};
  }
};

// Planes of less work than about 10 us go to a thread together.
inline std::int64_t pooling_grain(std::int64_t elements) {
  return 1 + 32768 / std::max<std::int64_t>(elements, 1);
}

/// Calls f(sums, from, to) for each plane: `sums` is where its gradient is added up, in the type it is computed in.
/// For half types that is a room of its own, which is rounded to dx afterwards.
template <class T, class F>
void for_each_gradient_plane(const pooling_sizes& s, T* dx, bool add, F&& f) {
  using C = compute_t<T>;
  constexpr bool same = std::is_same_v<T, C>;
  const std::int64_t pixels = s.image.area();
  parallel_for(s.planes, pooling_grain(pixels), [&](std::int64_t begin, std::int64_t end) {
    const gemm_scratch<C> workspace(same ? 0 : pixels);
    for (std::int64_t p = begin; p < end; ++p) {
      T* const to = dx + p * pixels;
      C* sums;
      if constexpr (same)
        sums = to;
      else
        sums = workspace.data();
      if (!same || !add) std::fill_n(sums, pixels, C(0));
      f(p, sums);
      if constexpr (!same)
        for (std::int64_t i = 0; i < pixels; ++i)
          to[i] = static_cast<T>(add ? static_cast<C>(to[i]) + sums[i] : sums[i]);
    }
  });
}

}  // namespace detail

/// y = the largest element under each window; nan if there is one, -infinity where a window holds nothing but padding.
template <class T>
void max_pool(const pooling_sizes& s, const T* x, T* y) {
  using C = compute_t<T>;
  constexpr C least = -std::numeric_limits<C>::infinity();
  constexpr int N = detail::pooling_lanes<T>;
  const std::int64_t width = s.image.width, step = s.window.stride.width,
                     workspace_size = detail::row_workspace<T>(width);
  parallel_for(s.planes * s.places.height, detail::pooling_grain(width * s.window.kernel.height),
               [&](std::int64_t begin, std::int64_t end) {
                 const detail::gemm_scratch<C> workspace(workspace_size);
                 C* const row = workspace.data();
                 for (std::int64_t number = begin; number < end; ++number) {
                   detail::pooling_line line(s, number % s.places.height);
                   if (step > 2)
                     line.whole = {0, 0};  // elements further apart are loaded one by one, so rows are folded first
                   const T* const image = x + number / s.places.height * s.image.area();
                   T* const to = y + number * s.places.width;
                   const T* const corner = image + line.top * width - s.window.padding.width;
                   for (std::int64_t j = line.whole.begin; j < line.whole.end; j += N) {
                     const int count = static_cast<int>(std::min<std::int64_t>(N, line.whole.end - j));
                     const detail::largest_elements<T> found(s, corner + j * step, line.rows, count);
                     if (count == N)
                       store(to + j, found.value);
                     else
                       store_partial(to + j, found.value, count);
                   }
                   if (line.whole.size() == s.places.width) continue;
                   // The others one by one, on rows folded into one.
                   std::fill_n(row, workspace_size, least);
                   for (std::int64_t i = line.rows.begin; i < line.rows.end; ++i)
                     detail::fold_row(row, image + (line.top + i * s.window.dilation.height) * width, width,
                                      [](auto a, auto b) { return where(a >= b, a, maximum(b, a)); });
                   for (std::int64_t j = 0; j < s.places.width; ++j) {
                     if (j == line.whole.begin && line.whole.size() > 0) j = line.whole.end;
                     if (j == s.places.width) break;
                     const std::int64_t left = j * step - s.window.padding.width;
                     const index_range columns =
                         detail::kernel_inside(left, s.window.kernel.width, s.window.dilation.width, width);
                     C best = least;
                     bool both_zeros = false;
                     for (std::int64_t q = columns.begin; q < columns.end; ++q) {
                       const C v = row[left + q * s.window.dilation.width];
                       if (v > best || v != v)
                         best = v;
                       else if (v == C(0) && best == C(0))
                         both_zeros |= std::signbit(v) != std::signbit(best);
                     }
                     if (both_zeros && best == C(0)) {
                       to[j] = image[detail::place_of_largest(s, image, line.top, left, line.rows, columns)];
                       continue;
                     }
                     to[j] = static_cast<T>(best);
                   }
                 }
               });
}

/// The gradient by x, given that by y: it goes to the element under each window that max_pool has taken.
template <class T>
void max_pool_backward(const pooling_sizes& s, const T* x, const T*, const T* dy, T* dx, bool add) {
  using C = compute_t<T>;
  using largest = detail::largest_elements<T>;
  constexpr int N = detail::pooling_lanes<T>;
  const std::int64_t width = s.image.width, step = s.window.stride.width;
  detail::for_each_gradient_plane(s, dx, add, [&](std::int64_t plane, C* sums) {
    const T* const image = x + plane * s.image.area();
    for (std::int64_t number = 0; number < s.places.height; ++number) {
      const detail::pooling_line line(s, number);
      const T* const from = dy + (plane * s.places.height + number) * s.places.width;
      for (std::int64_t j = 0; j < s.places.width; ++j) {
        const std::int64_t left = j * step - s.window.padding.width;
        if (j == line.whole.begin && line.whole.size() > 0) {
          for (; j < line.whole.end; j += N) {
            const std::int64_t first = line.top * width + j * step - s.window.padding.width;
            const int count = static_cast<int>(std::min<std::int64_t>(N, line.whole.end - j));
            const auto at = to_array(largest(s, image + first, line.rows, count).at);
            C* const to = sums + first;
            for (int l = 0; l < count; ++l)
              to[l * step + at[static_cast<std::size_t>(l)]] += static_cast<C>(from[j + l]);
          }
          j = line.whole.end - 1;
          continue;
        }
        const index_range columns = detail::kernel_inside(left, s.window.kernel.width, s.window.dilation.width, width);
        if (const std::int64_t at = detail::place_of_largest(s, image, line.top, left, line.rows, columns); at >= 0)
          sums[at] += static_cast<C>(from[j]);
      }
    }
  });
}

/// y = the sum of the elements under each window, divided as `divisor` says.
template <class T>
void average_pool(const pooling_sizes& s, const average_divisor& divisor, const T* x, T* y) {
  using C = compute_t<T>;
  const std::int64_t width = s.image.width, workspace_size = detail::row_workspace<T>(width);
  parallel_for(s.planes * s.places.height, detail::pooling_grain(width * s.window.kernel.height),
               [&](std::int64_t begin, std::int64_t end) {
                 const detail::gemm_scratch<C> workspace(workspace_size);
                 C* const row = workspace.data();
                 for (std::int64_t line = begin; line < end; ++line) {
                   const std::int64_t top = line % s.places.height * s.window.stride.height - s.window.padding.height;
                   const T* const image = x + line / s.places.height * s.image.area();
                   const index_range rows = detail::kernel_inside(top, s.window.kernel.height, 1, s.image.height);
                   std::fill_n(row, workspace_size, C(0));
                   for (std::int64_t i = rows.begin; i < rows.end; ++i)
                     detail::fold_row(row, image + (top + i) * width, width, [](auto a, auto b) { return a + b; });
                   T* const to = y + line * s.places.width;
                   for (std::int64_t j = 0; j < s.places.width; ++j) {
                     const std::int64_t left = j * s.window.stride.width - s.window.padding.width;
                     const index_range columns = detail::kernel_inside(left, s.window.kernel.width, 1, width);
                     C sum(0);
                     for (std::int64_t q = columns.begin; q < columns.end; ++q) sum += row[left + q];
                     to[j] = static_cast<T>(sum / static_cast<C>(divisor.of(s, {top, left})));
                   }
                 }
               });
}

/// The gradient by x, given that by y: each window hands all its elements the same share.
template <class T>
void average_pool_backward(const pooling_sizes& s, const average_divisor& divisor, const T* dy, T* dx, bool add) {
  using C = compute_t<T>;
  const std::int64_t width = s.image.width;
  detail::for_each_gradient_plane(s, dx, add, [&](std::int64_t plane, C* sums) {
    const detail::gemm_scratch<C> workspace(width);
    C* const row = workspace.data();
    for (std::int64_t r = 0; r < s.places.height; ++r) {
      const std::int64_t top = r * s.window.stride.height - s.window.padding.height;
      const T* const from = dy + (plane * s.places.height + r) * s.places.width;
      std::fill_n(row, width, C(0));
      for (std::int64_t j = 0; j < s.places.width; ++j) {
        const std::int64_t left = j * s.window.stride.width - s.window.padding.width;
        const index_range columns = detail::kernel_inside(left, s.window.kernel.width, 1, width);
        const C share = static_cast<C>(from[j]) / static_cast<C>(divisor.of(s, {top, left}));
        for (std::int64_t q = columns.begin; q < columns.end; ++q) row[left + q] += share;
      }
      const index_range rows = detail::kernel_inside(top, s.window.kernel.height, 1, s.image.height);
      for (std::int64_t i = rows.begin; i < rows.end; ++i)
        detail::add_elements(sums + (top + i) * width, static_cast<const C*>(row), width);
    }
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
