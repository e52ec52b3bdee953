// SPDX-License-Identifier: BSL-1.0
// Norms of vectors and matrices, distances, and what is scaled by them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/operators.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/decompositions.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k::norms {

inline tensor floating(const tensor& x) {
  return is_floating(x.type()) ? x : x.to(dtype::float64);
}

/// (x - mean) / deviation; of images, where there is a number for each channel, those of the channels.
inline tensor standardised(const tensor& x, const tensor& mean, const tensor& deviation) {
  const auto placed = [&](const tensor& given) {
    const tensor t = given.to(x.type());
    return t.dim() == 1 && t.numel() > 1 && x.dim() >= 3 ? dynamic::reshape(t, {t.numel(), 1, 1}) : t;
  };
  return (x - placed(mean)) / placed(deviation);
}

/// (sum |x|^p)^(1/p) along axes, of all elements if none is named: the largest for infinity, the smallest for minus
/// infinity, how many are not 0 for 0.
inline tensor power_norm(const tensor& x, double p, const longs& axes = {}, bool keepdim = false) {
  if (std::isnan(p)) throw value_error("a norm of order 0n: use a number");
  const tensor size = dynamic::call("abs", {floating(x)});
  if (p == 2) return dynamic::reduce("norm", size, axes, keepdim);
  if (std::isinf(p)) return dynamic::reduce(p > 0 ? "max" : "min", size, axes, keepdim);
  if (p == 1) return dynamic::reduce("sum", size, axes, keepdim);
  if (p == 0)
    return dynamic::reduce("sum", dynamic::call("ne", {size, dynamic::scalar(0)}).to(size.type()), axes, keepdim);
  // Powers of 0 have infinite derivatives; those of the norm are 0 there, as PyTorch's.
  const auto power = [](const tensor& of, double to) {
    const tensor zero = dynamic::call("eq", {of, dynamic::scalar(0)}),
                 at_zero = dynamic::scalar(to > 0 ? 0.0 : std::numeric_limits<double>::infinity());
    return dynamic::call("where", {zero, at_zero, dynamic::call("pow", {of, dynamic::scalar(to)})});
  };
  return power(dynamic::reduce("sum", power(size, p), axes, keepdim), 1 / p);
}

/// What a norm is asked for: (x[;order][;dims][;keepdim][;dtype][;out]). An order is a float, or a symbol.
struct request {
  tensor x;
  bool handle = false;
  std::optional<double> order;
  std::string word;
  longs axes;
  bool keepdim = false;
  output out;
};
inline request read(std::string_view name, object x, bool ordered) {
  arguments given(
      name, x, 1, ordered ? 6 : 5,
      output_trailing | symbol_trailing | flag_trailing | longs_trailing | (ordered ? number_trailing : 0u));
  request asked;
  asked.out = given.take_output();
  const auto is_word = [&](std::size_t i) {
    const auto word = i > 0 && i < given.size() ? read_symbol(given[i]) : std::nullopt;
    return ordered && word && (*word == "fro" || *word == "nuc");
  };
  const auto type = is_word(given.size() - 1) ? std::nullopt : given.take_dtype();
  asked.keepdim = given.take_flag().value_or(false);
  asked.axes = given.take_longs().value_or(longs{});
  given.none_left(ordered ? 2 : 1);
  if (is_word(1))
    asked.word = *read_symbol(given[1]);
  else if (given.size() == 2)
    asked.order = given.number_at(1);
  const operand found = given.read_at(0);
  asked.handle = found.handle;
  asked.x = floating(type ? found.value.to(*type) : found.value);
  return asked;
}

inline object vector_norm(std::string_view name, object x) {
  const request asked = read(name, x, true);
  if (!asked.word.empty()) throw value_error(message("`", asked.word, " is a norm of matrices: use mnorm"));
  return respond(power_norm(asked.x, asked.order.value_or(2), asked.axes, asked.keepdim), asked.handle, asked.out);
}

/// fnorm and mnorm: of the matrices in two axes, the last ones unless others are named.
inline object matrix_norm(std::string_view name, object x) {
  request asked = read(name, x, name == "mnorm");
  if (asked.axes.empty()) asked.axes = {-2, -1};
  if (asked.axes.size() != 2) throw value_error(message("expects 2 dimensions, given ", asked.axes.size()));
  const int rank = asked.x.dim();
  const std::int64_t row = normalize_axis(asked.axes[0], rank, "mnorm"),
                     column = normalize_axis(asked.axes[1], rank, "mnorm");
  if (row == column) throw value_error(message("expects 2 dimensions, given ", row, " twice"));
  const auto without_axes = [&](const tensor& kept) {
    return asked.keepdim ? kept
                         : dynamic::squeeze(dynamic::squeeze(kept, std::max(row, column)), std::min(row, column));
  };
  if (!asked.order && asked.word != "nuc")
    return respond(power_norm(asked.x, 2, {row, column}, asked.keepdim), asked.handle, asked.out);
  const double order = asked.order.value_or(1);
  tensor result;
  if (asked.word == "nuc" || std::abs(order) == 2) {
    // The matrices' axes go last for the decomposition, and come back with size 1.
    const tensor matrices =
        dynamic::movedim(dynamic::movedim(asked.x, row, -1), column > row ? column - 1 : column, -1);
    const tensor values = decompositions::singular_values(matrices);
    const tensor one = dynamic::reduce(asked.word == "nuc" ? "sum" : order > 0 ? "max" : "min", values, {-1});
    result = dynamic::unsqueeze(dynamic::unsqueeze(one, std::min(row, column)), std::max(row, column));
  } else if (std::abs(order) == 1 || std::isinf(order)) {
    const bool down = std::abs(order) == 1;  // sums of columns, or of rows
    const tensor sums = power_norm(asked.x, 1, {down ? row : column}, true);
    result = dynamic::reduce(order > 0 ? "max" : "min", sums, {down ? column : row}, true);
  } else {
    throw value_error(message("a norm of matrices of order ", order,
                              ": there are `fro, `nuc, 1, 2, infinity, and these "
                              "negative"));
  }
  return respond(without_axes(result), asked.handle, asked.out);
}

/// (x;y[;p]): the norm of x - y.
inline object distance(std::string_view name, object x) {
  const arguments given(name, x, 2, 3);
  const operand a = given.operand_at(0), b = given.operand_at(1);
  return respond(power_norm(floating(a.value) - floating(b.value), given.size() == 3 ? given.number_at(2) : 2),
                 a.handle || b.handle);
}

/// (x;p;dim;most): the parts along a dimension with a larger norm scaled down to it.
inline object renorm(std::string_view name, object x) {
  arguments given(name, x, 4, 5);
  const output out = given.take_output();
  given.none_left(4);
  const operand found = given.operand_at(0);
  const tensor value = floating(found.value);
  const std::int64_t axis = normalize_axis(given.long_at(2), value.dim(), "renorm");
  const double most = given.number_at(3);
  if (!(most >= 0)) throw value_error(message("a largest norm of ", most, " is not 0 or above"));
  longs others;
  for (int i = 0; i < value.dim(); ++i)
    if (i != axis) others.push_back(i);
  if (others.empty()) throw shape_error(message("expects 2 dimensions or more, given sizes ", value.sizes()));
  const tensor size = power_norm(value, given.number_at(1), others, true);
  const tensor above = dynamic::call("gt", {size, dynamic::scalar(most)});
  return respond(value * dynamic::call("where", {above, most / (size + 1e-7), dynamic::scalar(1.0)}), found.handle,
                 out);
}

/// Options by position or by name behind the operands, floats or longs.
inline std::vector<double> numbers(arguments& given, std::size_t operands, const std::vector<std::string_view>& names,
                                   std::vector<double> values) {
  if (const auto named = given.size() > operands ? given.take_options() : std::nullopt)
    for (const option& each : *named) {
      const auto at = std::ranges::find(names, each.name);
      const auto number = read_value(each.value.get());
      if (at == names.end() || !number) throw value_error(message("unrecognized option `", each.name));
      values[static_cast<std::size_t>(at - names.begin())] = *number;
    }
  given.none_left(operands + names.size());
  for (std::size_t i = operands; i < given.size(); ++i) values[i - operands] = given.value_at(i);
  return values;
}
inline std::int64_t whole(double value, std::string_view what) {
  if (value != std::floor(value) || std::abs(value) > 1e6) throw value_error(message(what, " of ", value));
  return static_cast<std::int64_t>(value);
}

/// (x[;p;dim;eps]): x by its norm along a dimension, by eps where that is smaller.
inline object normalize(std::string_view name, object x) {
  arguments given(name, x, 1, 5, output_trailing | number_trailing | options_trailing);
  const output out = given.take_output();
  const auto how = numbers(given, 1, {"p", "dim", "eps"}, {2, 1, 1e-12});
  const operand found = given.operand_at(0);
  const tensor size = power_norm(found.value, how[0], {whole(how[1], "a dimension")}, true);
  return respond(floating(found.value) / dynamic::call("maximum", {size, dynamic::scalar(how[2])}), found.handle, out);
}

/// pairwise (x;y[;p;eps;keepdim]): the norm of x - y + eps along the last dimension.
inline object pairwise(std::string_view name, object x) {
  arguments given(name, x, 2, 6);
  const auto how = numbers(given, 2, {"p", "eps", "keepdim"}, {2, 1e-6, 0});
  const operand a = given.operand_at(0), b = given.operand_at(1);
  return respond(power_norm(floating(a.value) - floating(b.value) + how[1], how[0], {-1}, how[2] != 0),
                 a.handle || b.handle);
}

/// similar (x;y[;dim;eps]): the cosine of the angle between x and y along a dimension.
inline object similar(std::string_view name, object x) {
  arguments given(name, x, 2, 5);
  const auto how = numbers(given, 2, {"dim", "eps"}, {1, 1e-8});
  const operand a = given.operand_at(0), b = given.operand_at(1);
  const longs axis{whole(how[0], "a dimension")};
  const tensor left = floating(a.value), right = floating(b.value);
  const auto size = [&](const tensor& t) {
    return dynamic::call("maximum", {power_norm(t, 2, axis), dynamic::scalar(how[1])});
  };
  return respond(dynamic::reduce("sum", left * right, axis) / (size(left) * size(right)), a.handle || b.handle);
}

/// pdist (x[;p]): the distances of all pairs of rows, those of the first row first.
inline object pair_distances(std::string_view name, object x) {
  arguments given(name, x, 1, 2, number_trailing);
  const double p = given.size() == 2 ? given.number_at(1) : 2;
  const operand found = given.operand_at(0);
  if (found.value.dim() != 2)
    throw shape_error(message("expects rows, 2 dimensions, given sizes ", found.value.sizes()));
  if (const std::int64_t n = found.value.size(0); n > (1 << 15))
    throw value_error(message(n, " rows have ", n, " * ", n - 1, " / 2 pairs: at most ", 1 << 15, " rows"));
  longs first, second;
  for (std::int64_t i = 0; i < found.value.size(0); ++i)
    for (std::int64_t j = i + 1; j < found.value.size(0); ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  const auto rows = [&](const longs& at) {
    return dynamic::index_select(floating(found.value), 0, index_beside(found.value, at));
  };
  return respond(power_norm(rows(first) - rows(second), p, {1}), found.handle);
}

}  // namespace kiln::k::norms

namespace kiln::k {

inline void offer_norms(registry& r) {
  r.offer("vnorm", norms::vector_norm);
  r.offer("fnorm", norms::matrix_norm);
  r.offer("mnorm", norms::matrix_norm);
  r.offer("dist", norms::distance);
  r.offer("renorm", norms::renorm);
  r.offer("normalize", norms::normalize);
  r.offer("pairwise", norms::pairwise);
  r.offer("similar", norms::similar);
  r.offer("pdist", norms::pair_distances);
}

}  // namespace kiln::k
