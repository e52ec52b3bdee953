// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/math.hpp>

#include <kiln/k/tensors.hpp>

#include "k/support.hpp"

#include <cmath>
#include <functional>
#include <map>

using namespace k_test;

namespace {
const library q{k::offer_math, k::offer_objects, k::offer_tensors};
}  // namespace

TEST_CASE("every unary function computes what the standard library does") {
  const no_leak watch;
  const std::vector<double> x{0.1, 0.4, 0.9};
  const std::map<std::string, std::function<double(double)>> oracle{
      {"Abs", [](double v) { return std::fabs(v); }},
      {"Exp", [](double v) { return std::exp(v); }},
      {"Log", [](double v) { return std::log(v); }},
      {"Neg", [](double v) { return -v; }},
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"Sqrt", [](double v) { return std::sqrt(v); }},
      {"tanh", [](double v) { return std::tanh(v); }},
      {"Acos", [](double v) { return std::acos(v); }},
      {"Asin", [](double v) { return std::asin(v); }},
      {"Atan", [](double v) { return std::atan(v); }},
      {"ceil", [](double v) { return std::ceil(v); }},
      {"Cos", [](double v) { return std::cos(v); }},
      {"cosh", [](double v) { return std::cosh(v); }},
      {"erf", [](double v) { return std::erf(v); }},
      {"erfc", [](double v) { return std::erfc(v); }},
      {"expm1", [](double v) { return std::expm1(v); }},
      {"Floor", [](double v) { return std::floor(v); }},
      {"log10", [](double v) { return std::log10(v); }},
      {"log1p", [](double v) { return std::log1p(v); }},
      {"log2", [](double v) { return std::log2(v); }},
      {"Reciprocal", [](double v) { return 1 / v; }},
      {"round", [](double v) { return std::nearbyint(v); }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }},
      {"sign", [](double) { return 1.0; }},
      {"Sin", [](double v) { return std::sin(v); }},
      {"sinh", [](double v) { return std::sinh(v); }},
      {"Tan", [](double v) { return std::tan(v); }},
      {"trunc", [](double v) { return std::trunc(v); }},
      {"relu", [](double v) { return v; }},
      {"lgamma", [](double v) { return std::lgamma(v); }},
      {"frac", [](double v) { return v - std::trunc(v); }},
      {"softplus", [](double v) { return std::log1p(std::exp(v)); }},
      {"gelu", [](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2.0)); }},
      {"ndtr", [](double v) { return std::erfc(-v / std::sqrt(2.0)) / 2; }},
      {"silu", [](double v) { return v / (1 + std::exp(-v)); }},
      {"mish", [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }}};
  for (const k::math::op_row& row : k::math::unary_rows) {
    if (kiln::dynamic::arity_of(row.op) != 1) {
      MESSAGE(row.name, " is not in kiln");
      continue;
    }
    const auto f = oracle.find(std::string(row.name));
    if (f == oracle.end()) continue;
    std::vector<double> expected;
    for (double v : x) expected.push_back(f->second(v));
    const owned result = q(row.name, floats(x));
    CHECK_MESSAGE(result.get(), q.error);
    if (result.get()) CHECK_MESSAGE(near(result, expected, 1e-9), row.name);
  }
}

TEST_CASE("two operands: arrays, atoms, handles, and a list of two as the argument list") {
  const no_leak watch;
  CHECK(near(q("mul", longs({2, 3})), {6}));
  CHECK(near(q("mul", list(floats({1, 2}), floats({3, 4}))), {3, 8}));
  CHECK(near(q("Div", list(floats({1, 2}), number(2))), {0.5, 1}));
  CHECK(near(q("pow", list(number(2), floats({1, 2, 3}))), {2, 4, 8}));
  CHECK(near(q("maximum", list(floats({1, 5}), floats({3, 4}))), {3, 5}));
  CHECK(near(q("fmod", list(floats({-7, 7}), number(3))), {-1, 1}));
  CHECK(near(q("remainder", list(floats({-7, 7}), number(3))), {2, 1}));
  const owned less = q("lt", list(longs({1, 5}), number(3)));
  CHECK(less.get()->type == k::boolean_type);
  CHECK(near(less, {1, 0}));
  const owned t = q("tensor", floats({1, 2}));
  const owned product = q("mul", list(copy(t), floats({10, 20})));
  CHECK(near(q("return", product), {10, 40}));
  CHECK(q.error_of("mul", list(floats({1, 2}), floats({1, 2, 3}))).find("mul: ") == 0);
  CHECK(q.error_of("mul", list(copy(t), symbol("x"))) == "no torch type found for k: symbol scalar");
  q("free", t);
}

TEST_CASE("results go into an output or into the first operand") {
  const no_leak watch;
  const owned t = q("tensor", floats({1, 2})), out = q("tensor", floats({0, 0}));
  CHECK(k::is_null(q("mul", list(copy(t), copy(t), copy(out))).get()));
  CHECK(near(q("tensor", out), {1, 4}));
  CHECK(k::is_null(q("Exp", list(copy(t), empty_list())).get()));
  CHECK(near(q("tensor", t), {std::exp(1.0), std::exp(2.0)}));
  CHECK(k::is_null(q("add", list(copy(t), number(1), null())).get()));
  CHECK(near(q("return", t), {std::exp(1.0) + 1, std::exp(2.0) + 1}));
  q("free", out);
}

TEST_CASE("sums with a multiplier, bounds, and more operands") {
  const no_leak watch;
  CHECK(near(q("add", list(floats({1, 2}), floats({3, 4}), number(-1))), {-2, -2}));
  CHECK(near(q("sub", list(floats({1, 2}), floats({3, 4}))), {-2, -2}));
  CHECK(near(q("clamp", list(floats({-5, 0, 5}), number(-1), number(1))), {-1, 0, 1}));
  CHECK(near(q("clamp", list(floats({-5, 0, 5}), number(k::null_float), number(1))), {-5, 0, 1}));
  CHECK(near(q("clamp", list(longs({-5, 0, 5}), number(-1), number(k::null_long))), {-1, 0, 5}));
  CHECK(near(q("addcmul", list(floats({1}), floats({2}), floats({3}), number(0.5))), {4}));
  CHECK(near(q("addcdiv", list(floats({1}), floats({6}), floats({3}))), {3}));
  CHECK(near(q("lerp", list(floats({0, 10}), floats({10, 20}), number(0.25))), {2.5, 12.5}));
}

TEST_CASE("tests of elements") {
  const no_leak watch;
  const double inf = k::infinite_float;
  CHECK(near(q("nan", floats({1, k::null_float, inf})), {0, 1, 0}));
  CHECK(near(q("posinf", floats({1, -inf, inf})), {0, 0, 1}));
  CHECK(near(q("finite", floats({1, k::null_float, inf})), {1, 0, 0}));
  CHECK(q("equal", list(longs({1, 2}), longs({1, 2}))).get()->byte == 1);
  CHECK(q("equal", list(longs({1, 2}), longs({1, 2, 3}))).get()->byte == 0);
  CHECK(q("allclose", list(floats({1, inf}), floats({1 + 1e-9, inf}))).get()->byte == 1);
  CHECK(q("allclose", list(floats({1}), floats({1.1}))).get()->byte == 0);
  CHECK(near(q("close", list(floats({1, 2}), floats({1, 2.1}))), {1, 0}));
}
