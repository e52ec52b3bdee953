// SPDX-License-Identifier: BSL-1.0
// Running sums and products of lines along an axis, and their gradients. Floats add up in double, half types in float;
// each result is rounded once. Lines that lie beside each other are walked together, so memory is read in its order
// where they are columns, and no sum waits for another where they are rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <kiln/core/dtype.hpp>
#include <kiln/core/line_job.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// What results of type To are accumulated in; integers without a sign, as they wrap around.
template <Element To>
using running_t =
    std::conditional_t<std::is_same_v<To, bool>, bool,
                       std::conditional_t<std::is_integral_v<To>, std::uint64_t,
                                          std::conditional_t<std::is_same_v<compute_t<To>, To>, double, float>>>;

template <bool Product, class C>
C joined(C a, C b) {
  if constexpr (std::is_same_v<C, bool>)
    return Product ? a && b : a || b;
  else
    return Product ? a * b : a + b;
}

/// Up to Width lines, which begin `from_line` and `to_line` apart.
template <bool Product, int Width, class From, class To>
void run_beside(const From* from, std::int64_t from_step, std::int64_t from_line, To* to, std::int64_t to_step,
                std::int64_t to_line, std::int64_t n, int lines, bool add) {
  using C = running_t<To>;
  C so_far[static_cast<std::size_t>(Width)];
  std::fill_n(so_far, Width, static_cast<C>(Product ? 1 : 0));
  const auto walk = [&](auto from_apart, auto to_apart, auto count) {
    for (std::int64_t i = 0; i < n; ++i, from += from_step, to += to_step)
      for (int j = 0; j < count; ++j) {
        C& here = so_far[j];
        here = joined<Product>(here, static_cast<C>(from[j * from_apart]));
        To& out = to[j * to_apart];
        out = static_cast<To>(add ? joined<false>(static_cast<C>(out), here) : here);
      }
  };
  using one = std::integral_constant<std::int64_t, 1>;
  using all = std::integral_constant<int, Width>;
  if (lines < Width)
    walk(from_line, to_line, lines);
  else if (from_line == 1 && to_line == 1)
    walk(one{}, one{}, all{});
  else
    walk(from_line, to_line, all{});
}

template <bool Product, class From, class To>
void run_lines_as(const running_job& job) {
  const std::int64_t n = job.sizes[job.axis], end = job.backwards ? n - 1 : 0, way = job.backwards ? -1 : 1;
  const std::int64_t from_step = job.from_strides[job.axis], to_step = job.to_strides[job.axis];
  // Groups of neighbours along the last axis but this one.
  const int rank = job.sizes.rank(), beside = job.axis == rank - 1 ? rank - 2 : rank - 1;
  const std::int64_t row = beside < 0 ? 1 : job.sizes[beside];
  const std::int64_t from_line = beside < 0 ? 0 : job.from_strides[beside];
  const std::int64_t to_line = beside < 0 ? 0 : job.to_strides[beside];
  constexpr int columns = 32, rows = 4;
  const bool wide = from_line == 1 && to_line == 1;
  const std::int64_t width = wide ? columns : rows, groups = (row + width - 1) / width;
  const line_places places(job.sizes, job.axis);
  parallel_for(places.lines() / row * groups, std::max<std::int64_t>(1, 16384 / (width * n)),
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t g = first; g < last; ++g) {
                   const std::int64_t line = g / groups * row + g % groups * width;
                   const From* const from =
                       static_cast<const From*>(job.from) + places(line, job.from_strides, job.axis) + end * from_step;
                   To* const to = static_cast<To*>(job.to) + places(line, job.to_strides, job.axis) + end * to_step;
                   const int lines = static_cast<int>(std::min(width, row - g % groups * width));
                   if (lines == 1)
                     run_beside<Product, 1>(from, way * from_step, 0, to, way * to_step, 0, n, 1, job.add);
                   else if (wide)
                     run_beside<Product, columns>(from, way * from_step, from_line, to, way * to_step, to_line, n,
                                                  lines, job.add);
                   else
                     run_beside<Product, rows>(from, way * from_step, from_line, to, way * to_step, to_line, n, lines,
                                               job.add);
                 }
               });
}

}  // namespace detail

/// Does a job over elements of type T.
template <Element T>
void run_running(const running_job& job) {
  if (count(job.sizes) == 0) return;
  const auto into = [&]<class To>(std::type_identity<To>) {
    job.product ? detail::run_lines_as<true, T, To>(job) : detail::run_lines_as<false, T, To>(job);
  };
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, std::int64_t>)
    if (job.in_int64) return into(std::type_identity<std::int64_t>{});
  into(std::type_identity<T>{});
}

/// The gradient of x_k, given those of the running products, is the product of the elements before it times
/// g_k + x_(k+1) (g_(k+1) + x_(k+2) (...)): nothing is divided by, so elements may be 0. What a 0 is a factor of is 0,
/// whatever else is.
template <Element T, class Number = double>  // a parameter, so that nothing is made of it before it is called
void run_running_product_gradient(const running_product_gradient_job& job) {
  if (count(job.sizes) == 0) return;
  const line_places places(job.sizes, job.axis);
  const std::int64_t n = job.sizes[job.axis], x_step = job.from_strides[job.axis],
                     g_step = job.gradient_strides[job.axis], to_step = job.to_strides[job.axis];
  parallel_for(places.lines(), std::max<std::int64_t>(1, 8192 / n), [&](std::int64_t first, std::int64_t last) {
    const std::unique_ptr<Number[]> behind(new Number[static_cast<std::size_t>(n)]);
    for (std::int64_t line = first; line < last; ++line) {
      const T* const x = static_cast<const T*>(job.from) + places(line, job.from_strides, job.axis);
      const T* const g = static_cast<const T*>(job.gradient) + places(line, job.gradient_strides, job.axis);
      T* const to = static_cast<T*>(job.to) + places(line, job.to_strides, job.axis);
      const auto times = [](double factor, double number) { return factor == 0 ? 0 : factor * number; };
      double sum = 0;
      for (std::int64_t i = n - 1; i >= 0; --i) {
        if (i < n - 1) sum = times(static_cast<double>(x[(i + 1) * x_step]), sum);
        behind[static_cast<std::size_t>(i)] = sum += static_cast<double>(g[i * g_step]);
      }
      double before = 1;
      for (std::int64_t i = 0; i < n; ++i) {
        const double made = times(before, behind[static_cast<std::size_t>(i)]);
        T& out = to[i * to_step];
        out = static_cast<T>(job.add ? static_cast<double>(out) + made : made);
        if (before != 0) before = times(static_cast<double>(x[i * x_step]), before);
      }
    }
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
