// SPDX-License-Identifier: BSL-1.0
// Functions that reduce dimensions, sort or count: sums, means, spreads, extremes and their places.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/math.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k::reductions {

/// What a reduction is asked for: (x[;dims][;flags][;dtype][;out]).
struct request {
  tensor x;
  bool handle = false;
  longs axes;
  bool all = true;  // no dimension was named
  std::vector<bool> flags;
  output out;

  bool flag(std::size_t i, bool otherwise) const { return i < flags.size() ? flags[i] : otherwise; }
};

inline request read(std::string_view name, object x, std::size_t flags) {
  arguments given(name, x, 1, 4 + flags, output_trailing | symbol_trailing | flag_trailing | longs_trailing);
  request asked;
  asked.out = given.take_output();
  const auto type = given.take_dtype();
  while (asked.flags.size() < flags) {
    const auto flag = given.take_flag();
    if (!flag) break;
    asked.flags.insert(asked.flags.begin(), *flag);
  }
  if (auto axes = given.take_longs()) {
    asked.axes = std::move(*axes);
    asked.all = asked.axes.empty();
  }
  given.none_left(1);
  const operand found = given.read_at(0);
  asked.handle = found.handle;
  asked.x = type ? found.value.to(*type) : found.value;
  return asked;
}

/// The operation in kiln of a reduction in q.
inline std::string_view op_of(std::string_view name) {
  static constexpr auto rows = std::to_array<math::op_row>({{"mean", "mean"},
                                                            {"Sum", "sum"},
                                                            {"prod", "prod"},
                                                            {"amax", "max"},
                                                            {"amin", "min"},
                                                            {"All", "all"},
                                                            {"Any", "any"},
                                                            {"logsumexp", "logsumexp"}});
  return math::op_of(rows, name);
}

inline object plain(std::string_view name, object x) {
  request asked = read(name, x, 1);
  if (name == "mean" && !is_floating(asked.x.type())) asked.x = asked.x.to(dtype::float64);
  return respond(dynamic::reduce(op_of(name), asked.x, asked.axes, asked.flag(0, false)), asked.handle, asked.out);
}

/// x with the elements that are NaN as 0.
inline tensor without_nan(const tensor& x) {
  return dynamic::call("where", {dynamic::call("isnan", {x}), dynamic::scalar(0.0), x});
}

inline object nan_sum(std::string_view name, object x) {
  const request asked = read(name, x, 1);
  if (!is_floating(asked.x.type())) throw dtype_error("expects floating elements");
  const bool keep = asked.flag(0, false);
  tensor result = dynamic::reduce("sum", without_nan(asked.x), asked.axes, keep);
  if (name == "nanmean") {
    const tensor counted = dynamic::call("logical_not", {dynamic::call("isnan", {asked.x})});
    result = dynamic::call("div", {result, dynamic::reduce("sum", counted.to(asked.x.type()), asked.axes, keep)});
  }
  return respond(std::move(result), asked.handle, asked.out);
}

/// std and variance: two flags are unbiased and keepdim, one is unbiased.
inline object spread(std::string_view name, object x) {
  request asked = read(name, x, 2);
  if (!is_floating(asked.x.type())) asked.x = asked.x.to(dtype::float32);
  const double correction = asked.flag(0, true) ? 1 : 0;
  const bool keep = asked.flag(1, false);
  return respond(name == "std" ? dynamic::stddev(asked.x, asked.axes, keep, correction)
                               : dynamic::var(asked.x, asked.axes, keep, correction),
                 asked.handle, asked.out);
}

/// meanstd and meanvar: both results stacked.
inline object mean_and_spread(std::string_view name, object x) {
  request asked = read(name, x, 2);
  if (!is_floating(asked.x.type())) asked.x = asked.x.to(dtype::float32);
  const double correction = asked.flag(0, true) ? 1 : 0;
  const bool keep = asked.flag(1, false);
  const tensor mean = dynamic::reduce("mean", asked.x, asked.axes, keep);
  const tensor spread = name == "meanstd" ? dynamic::stddev(asked.x, asked.axes, keep, correction)
                                          : dynamic::var(asked.x, asked.axes, keep, correction);
  return respond(dynamic::stack(std::vector<tensor>{mean, spread}, 0), asked.handle, asked.out);
}

/// The one dimension that a request names, or all elements as one dimension.
inline std::pair<tensor, std::int64_t> one_axis(const request& asked) {
  if (asked.axes.size() > 1) throw value_error("expects one dimension");
  if (asked.all) return {dynamic::reshape(asked.x, longs{asked.x.numel()}), 0};
  return {asked.x, asked.axes[0]};
}

inline object arg(std::string_view name, object x) {
  const request asked = read(name, x, 1);
  const auto [values, axis] = one_axis(asked);
  const bool keep = asked.flag(0, false) && !asked.all;
  const longs over{axis};
  return respond(name == "argmax" ? dynamic::argmax(values, over, keep) : dynamic::argmin(values, over, keep),
                 asked.handle, asked.out);
}

/// Max and Min: of all elements, of two tensors, or (values;indices) along a dimension.
inline object extreme(std::string_view name, object x) {
  const bool most = name == "Max";
  if (x->type == mixed_type && !handle_number(x) && x->count >= 2 && x->count <= 3) {
    object second = items<object>(x)[1];
    const bool dimension = second->type == -long_type || second->type == -boolean_type;
    // A matrix of two rows is read as two operands, as with other functions of two.
    if (!dimension && !is_null(second) && !(second->type == mixed_type && second->count == 0)) {
      arguments given(name, x, 2, 3);
      const output out = given.take_output();
      const math::operands found = math::read_operands(given, 0, 2);
      return respond(dynamic::call(most ? "maximum" : "minimum", found.values), found.handle, out);
    }
  }
  const request asked = read(name, x, 1);
  if (asked.all) return respond(dynamic::reduce(most ? "max" : "min", asked.x), asked.handle, asked.out);
  const auto [values, axis] = one_axis(asked);
  const bool keep = asked.flag(0, false);
  const longs over{axis};
  return respond({dynamic::reduce(most ? "max" : "min", values, over, keep),
                  most ? dynamic::argmax(values, over, keep) : dynamic::argmin(values, over, keep)},
                 asked.handle);
}

/// aminmax: the smallest and the largest.
inline object both_extremes(std::string_view name, object x) {
  const request asked = read(name, x, 1);
  const bool keep = asked.flag(0, false);
  return respond({dynamic::reduce("min", asked.x, asked.axes, keep), dynamic::reduce("max", asked.x, asked.axes, keep)},
                 asked.handle);
}

}  // namespace kiln::k::reductions

namespace kiln::k {

inline void offer_reductions(registry& r) {
  for (std::string_view name : {"mean", "Sum", "prod", "amax", "amin", "All", "Any", "logsumexp"})
    r.offer(name, reductions::plain);
  r.offer("nansum", reductions::nan_sum);
  r.offer("nanmean", reductions::nan_sum);
  r.offer("std", reductions::spread);
  r.offer("variance", reductions::spread);
  r.offer("meanstd", reductions::mean_and_spread);
  r.offer("meanvar", reductions::mean_and_spread);
  r.offer("argmax", reductions::arg);
  r.offer("argmin", reductions::arg);
  r.offer("Max", reductions::extreme);
  r.offer("Min", reductions::extreme);
  r.offer("aminmax", reductions::both_extremes);
}

}  // namespace kiln::k
