// SPDX-License-Identifier: BSL-1.0
// Running sums and products along a dimension, and their gradients.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/dynamic/custom.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k::running {

/// Lines along an axis, one after the other in memory, each changed by `f(T* line, length)`; results as x has them.
template <class F>
tensor each_line(const tensor& x, std::int64_t axis, F f) {
  const bool single = x.dim() == 0;  // a line of one
  const tensor whole = single ? dynamic::reshape(x, longs{1}) : x;
  const int last = whole.dim() - 1;
  const tensor lines = dynamic::movedim(whole, single ? 0 : axis, last).contiguous();
  const std::int64_t length = lines.sizes()[last];
  const tensor made = visit_dtype(lines.type(), [&]<class T>(std::type_identity<T>) {
    const T* from = static_cast<const T*>(lines.data());
    return written(lines.type(), lines.sizes(), [&](void* memory) {
      T* to = static_cast<T*>(memory);
      std::copy_n(from, lines.numel(), to);
      for (std::int64_t i = 0; i < lines.numel(); i += length) f(to + i, length);
    });
  });
  return single ? dynamic::reshape(made, longs{}) : dynamic::movedim(made, last, axis);
}

/// Integers wrap around, as they do in every sum and product of theirs.
template <bool Product, class T>
T joined(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return Product ? a && b : a || b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(Product ? static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)
                                  : static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return static_cast<T>(Product ? a * b : a + b);
}
template <bool Product>
tensor forward(const tensor& x, std::int64_t axis) {
  return each_line(x, axis, []<class T>(T* line, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) line[i] = joined<Product>(line[i - 1], line[i]);
  });
}
inline tensor backward_sums(const tensor& g, std::int64_t axis) {
  return each_line(g, axis, []<class T>(T* line, std::int64_t n) {
    for (std::int64_t i = n - 1; i > 0; --i) line[i - 1] = joined<false>(line[i - 1], line[i]);
  });
}

/// For a line of x with gradients g of its running products y: where no element is 0 before it, that of x_k is the sum
/// of g_i y_i / x_k over i >= k; for the first 0 the products are formed without it; behind that all are 0.
inline tensor product_gradient(const tensor& x, const tensor& g, std::int64_t axis) {
  const std::vector<tensor> both{x.to(dtype::float64), g.to(dtype::float64)};
  const tensor pairs = dynamic::stack(both, x.dim());  // x and g side by side, behind the axis in question
  const std::int64_t along = x.dim() == 0 ? 0 : axis;
  const bool single = x.dim() == 0;
  const tensor lines = dynamic::movedim(single ? dynamic::unsqueeze(pairs, 0) : pairs, along, -2).contiguous();
  const std::int64_t n = lines.size(-2);
  const auto* from = static_cast<const double*>(lines.data());
  longs sizes(lines.sizes().begin(), lines.sizes().end());
  sizes.pop_back();
  const tensor made = written(dtype::float64, dims(sizes), [&](void* memory) {
    auto* to = static_cast<double*>(memory);
    for (std::int64_t start = 0; start < lines.numel() / 2; start += n) {
      const auto x_at = [&](std::int64_t i) { return from[2 * (start + i)]; };
      const auto g_at = [&](std::int64_t i) { return from[2 * (start + i) + 1]; };
      std::int64_t zero = 0;
      double before = 1;  // the product of all before the first 0
      for (; zero < n && x_at(zero) != 0; ++zero) {
        before *= x_at(zero);
        to[start + zero] = g_at(zero) * before;
      }
      for (std::int64_t k = zero - 2; k >= 0; --k) to[start + k] += to[start + k + 1];
      for (std::int64_t k = 0; k < zero; ++k) to[start + k] /= x_at(k);
      if (zero == n) continue;
      double sum = 0, product = before;
      for (std::int64_t i = zero; i < n; ++i) {
        if (i > zero) product *= x_at(i);
        sum += g_at(i) * product;
      }
      to[start + zero] = sum;
      std::fill(to + start + zero + 1, to + start + n, 0.0);
    }
  });
  return (single ? dynamic::reshape(made, longs{}) : dynamic::movedim(made, -1, axis)).to(x.type());
}

/// cumsum and cumprod: (x[;dim][;dtype][;out]), along the last dimension unless another is named; those of integers are
/// long.
inline object cumulated(std::string_view name, object x) {
  arguments given(name, x, 1, 4, long_trailing | symbol_trailing | output_trailing);
  const output out = given.take_output();
  const auto type = given.take_dtype();
  const std::int64_t wanted = given.take_long().value_or(-1);
  given.none_left(1);
  const operand found = given.operand_at(0);
  const dtype natural = is_floating(found.value.type()) ? found.value.type() : dtype::int64;
  const tensor source = found.value.to(type.value_or(natural));
  const std::int64_t axis = source.dim() == 0 ? 0 : normalize_axis(wanted, source.dim(), std::string(name).c_str());
  const bool product = name == "cumprod";
  tensor result = product ? forward<true>(source.detach(), axis) : forward<false>(source.detach(), axis);
  if (is_floating(source.type()))
    result = dynamic::with_gradient(
        std::string(name), result, {source},
        [axis, product, values = source.detach()](const tensor& g) -> std::vector<tensor> {
          return {product ? product_gradient(values, g, axis) : backward_sums(g, axis)};
        },
        product ? std::vector<tensor>{source} : std::vector<tensor>{});
  return respond(std::move(result), found.handle, out);
}

}  // namespace kiln::k::running

namespace kiln::k {

inline void offer_running(registry& r) {
  r.offer("cumsum", running::cumulated);
  r.offer("cumprod", running::cumulated);
}

}  // namespace kiln::k
