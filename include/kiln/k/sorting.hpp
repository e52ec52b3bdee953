// SPDX-License-Identifier: BSL-1.0
// Functions that order elements: sort, the largest few, medians, the most frequent, distinct values. The order is found
// on the values in memory; what is taken by it keeps its history.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/text.hpp>
#include <kiln/tensor/sort.hpp>

namespace kiln::k::sorting {

/// Indices that sort each line along an axis; NaN counts as the largest. Equal elements keep their order. Those of
/// ranks from `first` on, up to `last` if that is given.
inline tensor order(const tensor& x, std::int64_t axis, bool descending, std::int64_t first = 0,
                    std::int64_t last = -1) {
  const tensor whole = x.contiguous();
  static_cast<void>(whole.data());  // is on the host
  order_job job = kiln::detail::order_of(*whole.state(), static_cast<int>(axis),
                                         {.first = first, .last = last, .descending = descending});
  ref<tensor_state> places = kiln::detail::places_of(job, false);
  visit_dtype(whole.type(), [&]<class T>(std::type_identity<T>) { cpu::drivers::order_lines<T>(job); });
  return tensor::of(std::move(places));
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
  const tensor places = order(found.value, axis, largest, 0, k);
  return respond({dynamic::gather(found.value, axis, places), places}, found.handle);
}

/// (values;indices) along a dimension, at places that `place_of(lines, axis)` finds in lines of elements; without a
/// dimension of all elements, then only the value.
template <class Find>
object picked(const operand& found, std::optional<std::int64_t> wanted, bool keep, bool whole, Find place_of) {
  const bool flat = whole || found.value.dim() == 0;
  const tensor source = flat ? dynamic::reshape(found.value, longs{found.value.numel()}) : found.value;
  const std::int64_t axis = normalize_axis(flat ? 0 : wanted.value_or(-1), source.dim(), "a median");
  if (source.size(axis) == 0) throw value_error("there is no such element of none");
  const tensor place = place_of(source, axis).contiguous();
  tensor value = dynamic::gather(source, axis, place);
  if (whole) return respond(dynamic::reshape(value, longs{}), found.handle);
  if (keep) return respond({value, place}, found.handle);
  return respond({dynamic::squeeze(value, axis), dynamic::squeeze(place, axis)}, found.handle);
}

/// median and nanmedian: of an even number of elements the lower one. What is not a number is the median of its line,
/// or is left out.
inline object median(std::string_view name, object x) {
  arguments given(name, x, 1, 3, long_trailing | flag_trailing);
  const bool keep = given.take_flag().value_or(false);
  const auto axis = given.take_long();
  given.none_left(1);
  return picked(given.operand_at(0), axis, keep, !axis, [&](const tensor& lines, std::int64_t along) {
    const std::int64_t n = lines.size(along);
    if (!is_floating(lines.type())) return order(lines, along, false, (n - 1) / 2, (n - 1) / 2 + 1);
    const tensor sorted = order(lines, along, false);
    const tensor nans = dynamic::reduce("sum", dynamic::call("isnan", {lines}).to(dtype::int64), longs{along}, true);
    const tensor rank =
        name == "median"
            ? dynamic::call("where", {dynamic::call("gt", {nans, dynamic::scalar(0)}), dynamic::scalar(n - 1),
                                      dynamic::scalar((n - 1) / 2)})
            : dynamic::call(
                  "right_shift",
                  {dynamic::call("maximum", {dynamic::call("sub", {dynamic::scalar(n - 1), nans}), dynamic::scalar(0)}),
                   dynamic::scalar(1)});
    return dynamic::gather(sorted, along, rank.to(dtype::int64).contiguous());
  });
}

/// (x;k[;dim][;keepdim]): the k-th smallest.
inline object kth_value(std::string_view name, object x) {
  arguments given(name, x, 2, 4);
  const bool keep = given.take_flag().value_or(false);
  const auto axis = given.take_long();
  given.none_left(2);
  const std::int64_t k = given.long_at(1);
  return picked(given.operand_at(0), axis, keep, false, [&](const tensor& lines, std::int64_t along) {
    if (k < 1 || k > lines.size(along)) throw value_error(message("no element ", k, " of ", lines.size(along)));
    return order(lines, along, false, k - 1, k);
  });
}

/// (x[;dim][;keepdim]): the element that is there most often, of several the smallest, and where it is last.
inline object mode(std::string_view name, object x) {
  arguments given(name, x, 1, 3, long_trailing | flag_trailing);
  const bool keep = given.take_flag().value_or(false);
  const auto axis = given.take_long();
  given.none_left(1);
  return picked(given.operand_at(0), axis, keep, false, [](const tensor& source, std::int64_t along) {
    const int last = source.dim() - 1;
    const tensor places = dynamic::movedim(order(source, along, false), along, last).contiguous();
    const tensor sorted = dynamic::gather(dynamic::movedim(source, along, last), last, places).contiguous();
    const std::int64_t n = sorted.size(last);
    longs sizes(sorted.sizes().begin(), sorted.sizes().end());
    sizes.back() = 1;
    const auto* place = static_cast<const std::int64_t*>(places.data());
    const tensor found = visit_dtype(sorted.type(), [&]<class T>(std::type_identity<T>) {
      const T* values = static_cast<const T*>(sorted.data());
      return written(dtype::int64, dims(sizes), [&](void* memory) {
        auto* to = static_cast<std::int64_t*>(memory);
        for (std::int64_t line = 0; line < sorted.numel() / n; ++line) {
          std::int64_t longest = 0, run = 0, best = 0;
          for (std::int64_t i = line * n; i < (line + 1) * n; ++i) {
            run = i > line * n && values[i] == values[i - 1] ? run + 1 : 1;
            if (run <= longest) continue;
            longest = run;
            best = place[i];  // equal elements stand in the order they had
          }
          to[line] = best;
        }
      });
    });
    return dynamic::movedim(found, last, along);
  });
}

/// Distinct elements: in order, or of neighbours.
inline object unique(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const operand found = given.operand_at(0);
  tensor flat = dynamic::reshape(found.value, longs{found.value.numel()}).to(dynamic::device{});
  if (name == "unique") flat = dynamic::gather(flat, 0, order(flat, 0, false).contiguous());
  longs kept;
  const std::vector<double> values = detail::doubles_of(flat);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i == 0 || values[i] != values[i - 1]) kept.push_back(static_cast<std::int64_t>(i));
  return respond(dynamic::index_select(flat, 0, index_beside(flat, kept)).to(found.value.device()), found.handle);
}

}  // namespace kiln::k::sorting

namespace kiln::k {

inline void offer_sorting(registry& r) {
  for (std::string_view name : {"sort", "argsort", "msort"}) r.offer(name, sorting::sort);
  r.offer("topk", sorting::topk);
  r.offer("median", sorting::median);
  r.offer("nanmedian", sorting::median);
  r.offer("kthvalue", sorting::kth_value);
  r.offer("mode", sorting::mode);
  r.offer("unique", sorting::unique);
  r.offer("uniquec", sorting::unique);
}

}  // namespace kiln::k
