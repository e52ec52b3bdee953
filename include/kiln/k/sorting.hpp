// SPDX-License-Identifier: BSL-1.0
// Functions that order elements: sort, the largest few, medians, distinct values, running sums. The order is found on
// the values in memory; what is taken by it keeps its history.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/text.hpp>

namespace kiln::k::sorting {

/// Indices that sort each line along an axis; NaN counts as the largest. Equal elements keep their order.
inline tensor order(const tensor& x, std::int64_t axis, bool descending) {
  const int last = x.dim() - 1;
  const tensor lines = dynamic::movedim(x, axis, last).contiguous();
  const std::int64_t length = lines.sizes()[last], count_of_lines = length ? lines.numel() / length : 0;
  tensor found = visit_dtype(lines.type(), [&]<class T>(std::type_identity<T>) {
    const T* from = static_cast<const T*>(lines.data());
    return written(dtype::int64, lines.sizes(), [&](void* memory) {
      auto* to = static_cast<std::int64_t*>(memory);
      for (std::int64_t line = 0; line < count_of_lines; ++line) {
        const T* values = from + line * length;
        std::int64_t* places = to + line * length;
        std::iota(places, places + length, 0);
        std::stable_sort(places, places + length, [&](std::int64_t a, std::int64_t b) {
          const auto less = [](T p, T q) { return (q != q && p == p) || p < q; };
          return descending ? less(values[b], values[a]) : less(values[a], values[b]);
        });
      }
    });
  });
  return dynamic::movedim(found, last, axis);
}

/// (x[;dim][;flags]) of sort and its kin.
struct request {
  operand x;
  std::int64_t axis;
  bool first = false, second = false;
};
inline request read(std::string_view name, object x, std::int64_t axis, bool first) {
  arguments given(name, x, 1, 4, long_trailing | flag_trailing);
  std::vector<bool> flags;
  while (const auto flag = given.take_flag()) flags.insert(flags.begin(), *flag);
  axis = given.take_long().value_or(axis);
  given.none_left(1);
  request asked{given.operand_at(0), axis, flags.empty() ? first : flags[0], flags.size() > 1 && flags[1]};
  if (asked.x.value.dim() == 0) asked.x.value = dynamic::reshape(asked.x.value, longs{1});
  asked.axis = normalize_axis(asked.axis, asked.x.value.dim(), std::string(name).c_str());
  return asked;
}

inline object sort(std::string_view name, object x) {
  const request asked = read(name, x, name == "msort" ? 0 : -1, false);
  const tensor places = order(asked.x.value, asked.axis, asked.first);
  if (name == "argsort") return respond(places, asked.x.handle);
  const tensor values = dynamic::gather(asked.x.value, asked.axis, places);
  if (name == "msort") return respond(values, asked.x.handle);
  return respond({values, places}, asked.x.handle);
}

/// (x;k[;dim][;largest][;sorted])
inline object topk(std::string_view name, object x) {
  arguments given(name, x, 2, 5);
  std::vector<bool> flags;  // largest, sorted; the result is sorted in any case
  while (const auto flag = given.take_flag()) flags.insert(flags.begin(), *flag);
  given.none_left(3);
  const bool largest = flags.empty() || flags[0];
  std::int64_t axis = given.size() > 2 ? given.long_at(2) : -1;
  const operand found = given.operand_at(0);
  const std::int64_t k = given.long_at(1);
  if (found.value.dim() == 0) throw shape_error("expects one dimension or more");
  axis = normalize_axis(axis, found.value.dim(), "topk");
  if (k < 0 || k > found.value.size(axis))
    throw value_error(message("cannot take ", k, " of ", found.value.size(axis)));
  const tensor places = dynamic::narrow(order(found.value, axis, largest), axis, 0, k).contiguous();
  return respond({dynamic::gather(found.value, axis, places), places}, found.handle);
}

/// median and kthvalue: (values;indices) along a dimension; the median of all is one value.
inline object median(std::string_view name, object x) {
  arguments given(name, x, 1, 3, long_trailing | flag_trailing);
  const bool keep = given.take_flag().value_or(false);
  const auto axis_given = given.take_long();
  given.none_left(1);
  const operand found = given.operand_at(0);
  const bool whole = !axis_given || found.value.dim() == 0;
  const tensor source = whole ? dynamic::reshape(found.value, longs{found.value.numel()}) : found.value;
  const std::int64_t axis = normalize_axis(axis_given.value_or(0), source.dim(), "median");
  const std::int64_t n = source.size(axis);
  if (n == 0) throw value_error("there is no median of no elements");
  const tensor place = dynamic::narrow(order(source, axis, false), axis, (n - 1) / 2, 1).contiguous();
  tensor value = dynamic::gather(source, axis, place);
  if (!axis_given) return respond(dynamic::reshape(value, longs{}), found.handle);
  if (keep) return respond({value, place}, found.handle);
  return respond({dynamic::squeeze(value, axis), dynamic::squeeze(place, axis)}, found.handle);
}

/// Distinct elements: in order, or of neighbours.
inline object unique(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const operand found = given.operand_at(0);
  tensor flat = dynamic::reshape(found.value, longs{found.value.numel()});
  if (name == "unique") flat = dynamic::gather(flat, 0, order(flat, 0, false).contiguous());
  longs kept;
  const std::vector<double> values = detail::doubles_of(flat);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i == 0 || values[i] != values[i - 1]) kept.push_back(static_cast<std::int64_t>(i));
  const tensor index = copied(dtype::int64, {static_cast<std::int64_t>(kept.size())}, kept.data());
  return respond(dynamic::index_select(flat, 0, index), found.handle);
}

/// Running sums along a dimension, without history; those of integers are long and wrap around.
inline object cumsum(std::string_view name, object x) {
  arguments given(name, x, 1, 2, long_trailing);
  const std::int64_t wanted = given.take_long().value_or(0);
  given.none_left(1);
  const operand found = given.operand_at(0);
  const dtype type = found.value.type();
  const std::int64_t axis = normalize_axis(wanted, found.value.dim(), "cumsum");
  const bool single = found.value.dim() == 0;  // a line of one
  const int last = single ? 0 : found.value.dim() - 1;
  const tensor whole = single ? dynamic::reshape(found.value, longs{1}) : found.value;
  const tensor lines = dynamic::movedim(whole, axis, last).contiguous();
  const std::int64_t length = std::max<std::int64_t>(lines.sizes()[last], 1);
  const dtype sum_type = is_floating(type) ? type : dtype::int64;
  const tensor source = lines.to(sum_type);
  const tensor sums = visit_dtype(sum_type, [&]<class T>(std::type_identity<T>) {
    const T* from = static_cast<const T*>(source.data());
    return written(sum_type, source.sizes(), [&](void* memory) {
      T* to = static_cast<T*>(memory);
      for (std::int64_t i = 0; i < source.numel(); ++i)
        if constexpr (std::is_integral_v<T>)
          to[i] = static_cast<T>(static_cast<std::uint64_t>(from[i]) +
                                 (i % length ? static_cast<std::uint64_t>(to[i - 1]) : 0));
        else
          to[i] = i % length ? static_cast<T>(to[i - 1] + from[i]) : from[i];
    });
  });
  return respond(single ? dynamic::reshape(sums, longs{}) : dynamic::movedim(sums, last, axis), found.handle);
}

}  // namespace kiln::k::sorting

namespace kiln::k {

inline void offer_sorting(registry& r) {
  for (std::string_view name : {"sort", "argsort", "msort"}) r.offer(name, sorting::sort);
  r.offer("topk", sorting::topk);
  r.offer("median", sorting::median);
  r.offer("unique", sorting::unique);
  r.offer("uniquec", sorting::unique);
  r.offer("cumsum", sorting::cumsum);
}

}  // namespace kiln::k
