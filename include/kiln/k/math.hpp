// SPDX-License-Identifier: BSL-1.0
// Pointwise functions and comparisons: mostly rows of one table, which says what kiln calls an operation of q's.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k::math {

/// An operation by its name in q and in kiln.
struct op_row {
  std::string_view name, op;
};

inline constexpr auto unary_rows = std::to_array<op_row>({{"Abs", "abs"},
                                                          {"Exp", "exp"},
                                                          {"Log", "log"},
                                                          {"Neg", "neg"},
                                                          {"sigmoid", "sigmoid"},
                                                          {"Sqrt", "sqrt"},
                                                          {"tanh", "tanh"},
                                                          {"Acos", "acos"},
                                                          {"Asin", "asin"},
                                                          {"Atan", "atan"},
                                                          {"ceil", "ceil"},
                                                          {"Cos", "cos"},
                                                          {"cosh", "cosh"},
                                                          {"erf", "erf"},
                                                          {"erfc", "erfc"},
                                                          {"expm1", "expm1"},
                                                          {"Floor", "floor"},

                                                          {"lgamma", "lgamma"},
                                                          {"log10", "log10"},
                                                          {"log1p", "log1p"},
                                                          {"log2", "log2"},
                                                          {"Not", "logical_not"},
                                                          {"Reciprocal", "reciprocal"},
                                                          {"round", "round"},
                                                          {"rsqrt", "rsqrt"},
                                                          {"sgn", "sign"},
                                                          {"sign", "sign"},
                                                          {"Sin", "sin"},
                                                          {"sinh", "sinh"},
                                                          {"Tan", "tan"},
                                                          {"trunc", "trunc"},
                                                          {"gelu", "gelu"},
                                                          {"ndtr", "ndtr"},
                                                          {"silu", "silu"},
                                                          {"mish", "mish"},
                                                          {"digamma", "digamma"},

                                                          {"bitwisenot", "bitwise_not"},
                                                          {"relu", "relu"},
                                                          {"relu6", "relu6"},

                                                          {"selu", "selu"},
                                                          {"logsigmoid", "logsigmoid"},
                                                          {"softsign", "softsign"},
                                                          {"tanhshrink", "tanhshrink"},
                                                          {"finite", "isfinite"},
                                                          {"inf", "isinf"},
                                                          {"nan", "isnan"}});

inline constexpr auto binary_rows = std::to_array<op_row>({{"mul", "mul"},
                                                           {"Div", "div"},
                                                           {"maximum", "maximum"},
                                                           {"minimum", "minimum"},
                                                           {"pow", "pow"},
                                                           {"atan2", "atan2"},
                                                           {"fmax", "fmax"},
                                                           {"fmin", "fmin"},
                                                           {"fmod", "fmod"},
                                                           {"remainder", "remainder"},
                                                           {"xor", "logical_xor"},
                                                           {"eq", "eq"},
                                                           {"ne", "ne"},
                                                           {"lt", "lt"},
                                                           {"le", "le"},
                                                           {"gt", "gt"},
                                                           {"ge", "ge"}});

/// An operation with numbers besides its operand: their names in q and what they are where none is given.
struct parametric_row {
  std::string_view name, op;
  std::array<std::string_view, 2> options;
  std::array<double, 2> otherwise;
};

inline constexpr auto parametric_rows =
    std::to_array<parametric_row>({{"leakyrelu", "leaky_relu", {"slope"}, {0.01}},
                                   {"elu", "elu", {"alpha"}, {1}},
                                   {"celu", "celu", {"alpha"}, {1}},
                                   {"hardshrink", "hardshrink", {"lambda"}, {0.5}},
                                   {"softshrink", "softshrink", {"lambda"}, {0.5}},
                                   {"hardtanh", "hardtanh", {"min", "max"}, {-1, 1}},
                                   {"softplus", "softplus", {"beta", "threshold"}, {1, 20}},
                                   {"threshold", "threshold", {"threshold", "value"}, {0, 0}}});

template <std::size_t N>
constexpr std::string_view op_of(const std::array<op_row, N>& rows, std::string_view name) {
  for (const op_row& row : rows)
    if (row.name == name) return row.op;
  return {};
}

/// Operands of a call and whether one was a handle. A number from q beside a tensor is a number to kiln too, so it
/// changes the dtype only by its category.
struct operands {
  std::vector<tensor> values;
  bool handle = false;
};

inline tensor number_of(object x) {
  switch (x->type) {
    case -boolean_type:
      return dynamic::scalar(x->byte != 0);
    case -real_type:
      return dynamic::scalar(static_cast<double>(x->real), dtype::float32);
    case -float_type:
      return dynamic::scalar(x->floating, dtype::float64);
    case -long_type:
      return dynamic::scalar(x->long_integer);
    default:
      return to_tensor(x);
  }
}

inline operands read_operands(const arguments& given, std::size_t first, std::size_t count) {
  operands found;
  for (std::size_t i = first; i < first + count; ++i) {
    object x = given[i];
    operand each = x->type < 0 ? operand{number_of(x), false} : given.read_at(i);
    found.values.push_back(std::move(each.value));
    found.handle = found.handle || each.handle;
  }
  return found;
}

inline object unary(std::string_view name, object x) {
  arguments given(name, x, 1, 2, output_trailing);
  const output out = given.take_output();
  given.none_left(1);
  const operands found = read_operands(given, 0, 1);
  return respond(dynamic::call(op_of(unary_rows, name), found.values), found.handle, out);
}

inline object binary(std::string_view name, object x) {
  arguments given(name, x, 2, 3);
  const output out = given.take_output();
  given.none_left(2);
  const operands found = read_operands(given, 0, 2);
  return respond(dynamic::call(op_of(binary_rows, name), found.values), found.handle, out);
}

/// (x[;numbers...][;named options][;out])
inline object parametric(std::string_view name, object x) {
  arguments given(name, x, 1, 5, output_trailing | number_trailing | options_trailing);
  const parametric_row* row = std::ranges::find(parametric_rows, name, &parametric_row::name);
  const output out = given.take_output();
  std::array<double, 2> numbers = row->otherwise;
  if (const auto named = given.take_options())
    for (const option& each : *named) {
      const auto place = std::ranges::find(row->options, each.name);
      const auto number = read_number(each.value.get());
      if (place == row->options.end() || !number) throw value_error(message("unrecognized option `", each.name));
      numbers[static_cast<std::size_t>(place - row->options.begin())] = *number;
    }
  const std::size_t most = row->options[1].empty() ? 1 : 2;
  given.none_left(1 + most);
  for (std::size_t i = 1; i < given.size(); ++i) numbers[i - 1] = given.number_at(i);
  operands found = read_operands(given, 0, 1);
  for (std::size_t i = 0; i < most; ++i) found.values.push_back(dynamic::scalar(numbers[i]));
  return respond(dynamic::call(row->op, found.values), found.handle, out);
}

/// x - trunc(x).
inline object frac(std::string_view name, object x) {
  arguments given(name, x, 1, 2, output_trailing);
  const output out = given.take_output();
  given.none_left(1);
  const operands found = read_operands(given, 0, 1);
  return respond(dynamic::call("sub", {found.values[0], dynamic::call("trunc", found.values)}), found.handle, out);
}

/// 0, pi where x is below 0.
inline object angle(std::string_view name, object x) {
  arguments given(name, x, 1, 2, output_trailing);
  const output out = given.take_output();
  given.none_left(1);
  operands found = read_operands(given, 0, 1);
  if (!is_floating(found.values[0].type())) found.values[0] = found.values[0].to(dtype::float32);
  const tensor& value = found.values[0];
  const tensor turned = dynamic::call("where", {dynamic::call("lt", {value, dynamic::scalar(0)}),
                                                dynamic::scalar(std::numbers::pi), dynamic::scalar(0.0)});
  return respond(dynamic::call("where", {dynamic::call("isnan", {value}), value, turned.to(value.type())}),
                 found.handle, out);
}

/// (x;p): p (p - 1) / 4 log pi + the sum of lgamma(x - j / 2) over j from 0 to p - 1 (Muirhead, Aspects of Multivariate
/// Statistical Theory, 2.1.12).
inline object mvlgamma(std::string_view name, object x) {
  arguments given(name, x, 2, 3);
  const output out = given.take_output();
  given.none_left(2);
  operands found = read_operands(given, 0, 1);
  const std::int64_t p = given.long_at(1);
  if (p < 1 || p > 10000) throw value_error(message("a number of dimensions of ", p));
  if (!is_floating(found.values[0].type())) found.values[0] = found.values[0].to(dtype::float32);
  tensor sum = dynamic::scalar(static_cast<double>(p * (p - 1)) / 4 * std::log(std::numbers::pi));
  for (std::int64_t j = 0; j < p; ++j) {
    const tensor at = dynamic::call("sub", {found.values[0], dynamic::scalar(static_cast<double>(j) / 2)});
    sum = dynamic::call("add", {dynamic::call("lgamma", {at}), sum});
  }
  return respond(std::move(sum), found.handle, out);
}

/// add and sub: x + multiplier * y.
inline object sum(std::string_view name, object x) {
  arguments given(name, x, 2, 4);
  const output out = given.take_output();
  operands found = read_operands(given, 0, 2);
  if (given.size() > 2) {
    given.none_left(3);
    if (!read_number(given[2])) given.refuse(2, "a long or float as multiplier");
    found.values[1] = dynamic::call("mul", {found.values[1], number_of(given[2])});
  }
  return respond(dynamic::call(name == "sub" ? "sub" : "add", found.values), found.handle, out);
}

/// Values of q that leave a bound open: a null, `::` or an empty list.
inline bool open(object x) {
  if (is_null(x) || (x->type == mixed_type && x->count == 0)) return true;
  if (x->type == -float_type) return x->floating != x->floating;
  if (x->type == -real_type) return x->real != x->real;
  const auto whole = read_long(x);
  return whole && *whole == null_long;
}

inline object clamp(std::string_view name, object x) {
  arguments given(name, x, 2, 4);
  output out;
  if (given.size() == 4) {
    object last = given[3];
    out = given.take_output();
    if (!out.target) throw value_error(message("argument 4 is a ", describe(last), ", expected an output tensor"));
  }
  operands found = read_operands(given, 0, 1);
  tensor result = found.values[0];
  for (std::size_t i = 1; i < given.size(); ++i) {
    if (open(given[i])) continue;
    operands bound = read_operands(given, i, 1);
    found.handle = found.handle || bound.handle;
    result = dynamic::call(i == 1 ? "maximum" : "minimum", {result, bound.values[0]});
  }
  return respond(std::move(result), found.handle, out);
}

/// addcmul and addcdiv: x + multiplier * (a op b).
inline object combined(std::string_view name, object x) {
  arguments given(name, x, 3, 5);
  const output out = given.take_output();
  operands found = read_operands(given, 0, 3);
  tensor part = dynamic::call(name == "addcmul" ? "mul" : "div", {found.values[1], found.values[2]});
  if (given.size() > 3) {
    given.none_left(4);
    if (!read_number(given[3])) given.refuse(3, "a long or float as multiplier");
    part = dynamic::call("mul", {part, number_of(given[3])});
  }
  return respond(dynamic::call("add", {found.values[0], part}), found.handle, out);
}

inline object lerp(std::string_view name, object x) {
  arguments given(name, x, 3, 4);
  const output out = given.take_output();
  given.none_left(3);
  const operands found = read_operands(given, 0, 3);
  const tensor step = dynamic::call("sub", {found.values[1], found.values[0]});
  return respond(dynamic::call("add", {found.values[0], dynamic::call("mul", {found.values[2], step})}), found.handle,
                 out);
}

/// Power in double.
inline object fpow(std::string_view name, object x) {
  arguments given(name, x, 2, 3);
  const output out = given.take_output();
  given.none_left(2);
  const operands found = read_operands(given, 0, 2);
  return respond(dynamic::call("pow", {found.values[0].to(dtype::float64), found.values[1].to(dtype::float64)}),
                 found.handle, out);
}

inline object infinite(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const operands found = read_operands(given, 0, 1);
  const double limit = name == "neginf" ? -infinite_float : infinite_float;
  return respond(dynamic::call("eq", {found.values[0], dynamic::scalar(limit)}), found.handle);
}

/// Whether shapes and all elements are equal; a boolean of q.
inline object equal(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operands found = read_operands(given, 0, 2);
  const tensor &a = found.values[0], &b = found.values[1];
  if (a.sizes() != b.sizes()) return kb(0);
  return kb(dynamic::reduce("all", dynamic::call("eq", {a, b})).item() != 0);
}

/// close and allclose: |x - y| <= atol + rtol * |y|, equal infinities too.
inline object close(std::string_view name, object x) {
  arguments given(name, x, 2, 4);
  const double rtol = given.size() > 2 ? given.number_at(2) : 1e-5;
  const double atol = given.size() > 3 ? given.number_at(3) : 1e-8;
  const operands found = read_operands(given, 0, 2);
  const tensor a = found.values[0].to(dtype::float64), b = found.values[1].to(dtype::float64);
  const tensor allowed = dynamic::call(
      "add", {dynamic::call("mul", {dynamic::call("abs", {b}), dynamic::scalar(rtol)}), dynamic::scalar(atol)});
  const tensor distance = dynamic::call("abs", {dynamic::call("sub", {a, b})});
  const tensor near =
      dynamic::call("logical_and", {dynamic::call("le", {distance, allowed}), dynamic::call("isfinite", {distance})});
  const tensor result = dynamic::call("logical_or", {near, dynamic::call("eq", {a, b})});
  if (name == "allclose") return kb(dynamic::reduce("all", result).item() != 0);
  return respond(result, found.handle);
}

}  // namespace kiln::k::math

namespace kiln::k {

inline void offer_math(registry& r) {
  for (const math::op_row& row : math::unary_rows) r.offer(row.name, math::unary);
  for (const math::op_row& row : math::binary_rows) r.offer(row.name, math::binary);
  for (const math::parametric_row& row : math::parametric_rows) r.offer(row.name, math::parametric);
  r.offer("frac", math::frac);
  r.offer("angle", math::angle);
  r.offer("mvlgamma", math::mvlgamma);
  r.offer("add", math::sum);
  r.offer("sub", math::sum);
  r.offer("clamp", math::clamp);
  r.offer("addcmul", math::combined);
  r.offer("addcdiv", math::combined);
  r.offer("lerp", math::lerp);
  r.offer("fpow", math::fpow);
  r.offer("posinf", math::infinite);
  r.offer("neginf", math::infinite);
  r.offer("equal", math::equal);
  r.offer("close", math::close);
  r.offer("allclose", math::close);
}

}  // namespace kiln::k
