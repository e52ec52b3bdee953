// SPDX-License-Identifier: BSL-1.0
// How often elements are there: by value, by range, among others. Counted on the values in memory, without history.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/text.hpp>

namespace kiln::k::counting {

/// (x[;weights][;bins]): how often 0, 1, ... are there, or the sums of their weights.
inline object bincount(std::string_view name, object x) {
  arguments given(name, x, 1, 3, any_trailing);
  std::int64_t bins = given.take_long().value_or(0);
  given.none_left(2);
  const operand found = given.operand_at(0);
  const operand weight = given.size() == 2 ? given.operand_at(1) : operand{};
  if (is_floating(found.value.type())) throw dtype_error("expects integers");
  const tensor whole = found.value.to(dtype::int64).contiguous();
  const std::int64_t n = whole.numel();
  const auto* values = static_cast<const std::int64_t*>(whole.data());
  std::vector<double> weights;
  if (weight.value.defined()) {
    weights = detail::doubles_of(weight.value);
    if (weights.size() != static_cast<std::size_t>(n))
      throw shape_error(message(weights.size(), " weights for ", n, " elements"));
  }
  if (bins < 0) throw value_error(message(bins, " bins"));
  for (std::int64_t i = 0; i < n; ++i) {
    if (values[i] < 0 || values[i] >= (std::int64_t{1} << 32))
      throw value_error(message("element ", i, " is ", values[i], ": what is counted is between 0 and 2^32"));
    bins = std::max(bins, values[i] + 1);
  }
  const auto counted = [&]<class T>(T) {
    return written(std::is_same_v<T, double> ? dtype::float64 : dtype::int64, {bins}, [&](void* memory) {
      T* to = static_cast<T*>(memory);
      std::fill_n(to, bins, T(0));
      for (std::int64_t i = 0; i < n; ++i)
        to[values[i]] += static_cast<T>(weights.empty() ? 1 : weights[static_cast<std::size_t>(i)]);
    });
  };
  tensor result = weight.value.defined() ? counted(double{}) : counted(std::int64_t{});
  if (weight.value.defined() && weight.value.type() == dtype::float32) result = result.to(dtype::float32);
  return respond(std::move(result), found.handle || weight.handle);
}

/// (x[;bins][;low;high][;out]): how many elements are in each of so many ranges of one width, from the smallest element
/// to the largest unless low and high say other ends; both ends count.
inline object histogram(std::string_view name, object x) {
  arguments given(name, x, 1, 5, output_trailing | number_trailing);
  const output out = given.take_output();
  given.none_left(4);
  const operand found = given.operand_at(0);
  const std::int64_t bins = given.size() > 1 ? given.long_at(1) : 100;
  double low = given.size() > 2 ? given.number_at(2) : 0, high = given.size() > 3 ? given.number_at(3) : 0;
  if (bins < 1 || bins > (std::int64_t{1} << 32)) throw value_error(message(bins, " bins"));
  const std::vector<double> values = detail::doubles_of(found.value);
  if (low == high && !values.empty()) {
    const auto [least, most] = std::ranges::minmax_element(values);
    low = *least;
    high = *most;
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high))
    throw value_error(message("a range from ", low, " to ", high, ": use finite ends, the lower first"));
  std::vector<double> counts(static_cast<std::size_t>(bins));
  for (double v : values) {
    if (!(v >= low && v <= high)) continue;
    const double place =
        (v / 2 - low / 2) / (high / 2 - low / 2);  // halves, since the range may be wider than a double
    const auto bin = static_cast<std::int64_t>(place * static_cast<double>(bins));
    counts[static_cast<std::size_t>(std::min(bin, bins - 1))] += 1;
  }
  const dtype type = is_floating(found.value.type()) ? found.value.type() : dtype::float64;
  return respond(copied(dtype::float64, {bins}, counts.data()).to(type), found.handle, out);
}

/// (x;y[;unique][;invert][;out]): whether each element of x is in y, or not.
inline object in(std::string_view name, object x) {
  arguments given(name, x, 2, 5);
  const output out = given.take_output();
  std::vector<bool> flags;  // that elements are unique changes nothing here
  while (const auto flag = given.take_flag()) flags.insert(flags.begin(), *flag);
  given.none_left(2);
  const bool invert = flags.size() > 1 && flags[1];
  const operand a = given.operand_at(0), b = given.operand_at(1);
  const dtype type = promote(a.value.type(), b.value.type());
  const tensor looked_for = a.value.to(type).contiguous(), among = b.value.to(type).contiguous();
  const tensor result = visit_dtype(type, [&]<class T>(std::type_identity<T>) {
    const T *values = static_cast<const T*>(looked_for.data()), *others = static_cast<const T*>(among.data());
    // What is not a number is equal to nothing, and has no place in an order.
    std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> sorted;
    for (std::int64_t i = 0; i < among.numel(); ++i)
      if (others[i] == others[i]) sorted.push_back(others[i]);
    std::ranges::sort(sorted, [](auto p, auto q) { return p < q; });
    return written(dtype::boolean, looked_for.sizes(), [&](void* memory) {
      bool* to = static_cast<bool*>(memory);
      for (std::int64_t i = 0; i < looked_for.numel(); ++i) {
        const bool there = values[i] == values[i] && std::binary_search(sorted.begin(), sorted.end(), values[i],
                                                                        [](auto p, auto q) { return p < q; });
        to[i] = there != invert;
      }
    });
  });
  return respond(result, a.handle || b.handle, out);
}

}  // namespace kiln::k::counting

namespace kiln::k {

inline void offer_counting(registry& r) {
  r.offer("bincount", counting::bincount);
  r.offer("histc", counting::histogram);
  r.offer("In", counting::in);
}

}  // namespace kiln::k
