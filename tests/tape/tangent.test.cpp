// SPDX-License-Identifier: BSL-1.0
// The tangent pass: tapes against tapes written by hand; and for every op, the numbers of its tape against differences
// taken in long double, which are good to more digits than are asked for.
#include <kiln/tape/tangent.hpp>

#include <doctest/doctest.h>

#include "in_reals.hpp"
#include "sheet.hpp"

#include <map>
#include <set>

using namespace kiln;
using in_reals::row;

namespace {

program tangent_of(auto write, int slots, leaf_mask moving = all_leaves) {
  sheet s;
  s.result(write(s));
  program out;
  tangent(s.p, out, op_rules_table, slots, moving);
  return out;
}
// Value and tangent as formulas: with two leaves, x2 is the tangent of x0 and x3 that of x1.
std::string formula_of_tangent(auto write, int slots, leaf_mask moving = all_leaves) {
  return formula_of(tangent_of(write, slots, moving));
}

// Where each op is looked at: `x` its operands over a row of three, the operands from `numbers` on being numbers.
struct place {
  std::vector<row<long double>> x;
  int numbers = 3;
};
place place_of(std::string_view op, int arity) {
  const row<long double> u{0.31L, 0.62L, 0.87L}, v{0.57L, 0.45L, 0.23L}, w{0.7L, 0.15L, 0.4L};
  static const std::map<std::string_view, place> others{
      {"acosh", {{{1.3L, 2.2L, 5.5L}}}},
      {"where", {{{1, 0, 1}, u, v}}},
      {"polygamma", {{{0, 1, 3}, {0.8L, 2.4L, 6.1L}}}},
      {"digamma", {{{0.8L, 2.4L, 6.1L}}}},
      {"lgamma", {{{0.8L, 2.4L, 6.1L}}}},
      {"lerp", {{u, v, w}}},
      {"clamp", {{{0.1L, 0.4L, 0.9L}, {0.2L, 0.2L, 0.2L}, {0.6L, 0.6L, 0.6L}}}},
      {"fmod", {{{5.3L, -7.1L, 2.6L}, {1.7L, 2.3L, 0.9L}}}},
      {"remainder", {{{5.3L, -7.1L, 2.6L}, {1.7L, 2.3L, 0.9L}}}},
      {"leaky_relu", {{{-0.4L, 0.3L, -1.9L}, {0.01L, 0.01L, 0.01L}}, 1}},
      {"elu", {{{-0.4L, 0.3L, -1.9L}, {1.5L, 1.5L, 1.5L}}, 1}},
      {"celu", {{{-0.4L, 0.3L, -1.9L}, {1.5L, 1.5L, 1.5L}}, 1}},
      {"softshrink", {{{-0.4L, 0.3L, -1.9L}, {0.35L, 0.35L, 0.35L}}, 1}},
      {"hardshrink", {{{-0.4L, 0.3L, -1.9L}, {0.35L, 0.35L, 0.35L}}, 1}},
      {"softplus", {{{-0.4L, 0.3L, 1.9L}, {2, 2, 2}, {3, 3, 3}}, 1}},
      {"hardtanh", {{{-0.4L, 0.3L, -1.9L}, {-1, -1, -1}, {1, 1, 1}}, 1}},
      {"threshold", {{{-0.4L, 0.3L, -1.9L}, {0.1L, 0.1L, 0.1L}, {7, 7, 7}}, 1}},
      {"squared_deviation", {{u, {3, 3, 3}}, 1}},
      {"standard_deviation", {{u, {3, 3, 3}, {2, 2, 2}}, 1}},
      {"layer_norm", {{u, {3, 3, 3}, {1e-5L, 1e-5L, 1e-5L}}, 1}},
      {"rms_norm", {{u, {3, 3, 3}, {1e-6L, 1e-6L, 1e-6L}}, 1}},
  };
  if (const auto it = others.find(op); it != others.end()) return it->second;
  place p{{u, v, w}};
  p.x.resize(static_cast<std::size_t>(arity));
  return p;
}

template <class R>
std::vector<row<R>> as(const std::vector<row<long double>>& x) {
  std::vector<row<R>> y;
  for (const auto& r : x) y.emplace_back(r.begin(), r.end());
  return y;
}

// A primitive op whose author wrote no derivative rule.
struct without_a_rule_op : arithmetic<1> {
  static constexpr std::string_view name = "without_a_rule";
};

// The derivative of the op's written-out value along `dx`, by differences of the sixth order.
row<long double> differences(const program& value, const place& p, const std::vector<row<long double>>& dx) {
  auto at = [&](long double t) {
    std::vector<row<long double>> x = p.x;
    for (std::size_t k = 0; k < x.size(); ++k)
      for (std::size_t i = 0; i < x[k].size(); ++i) x[k][i] += t * dx[k][i];
    row<long double> numbers;
    for (const auto& r : p.x) numbers.push_back(r[0]);
    return in_reals::run(value, x, numbers)[0];
  };
  const long double h = 0.001L;
  row<long double> slope(p.x[0].size());
  auto add = [&](long double weight, long double step) {
    const row<long double> high = at(step), low = at(-step);
    for (std::size_t i = 0; i < slope.size(); ++i) slope[i] += weight * (high[i] - low[i]) / (2 * step);
  };
  add(1.5L, h), add(-0.6L, 2 * h), add(0.1L, 3 * h);
  return slope;
}

void check_op(const op_rules& op) {
  const place p = place_of(op.name, op.arity);
  sheet s;
  symbol x[3] = {};
  for (int k = 0; k < op.arity; ++k) {
    const dtype type =
        op.common(dtype::float64) == dtype::boolean || (op.name == "where" && k == 0) ? dtype::boolean : dtype::float64;
    x[k] = k < p.numbers ? s.leaf(k, type) : s.number(k, type);
  }
  const dtype type = op.name == "where" ? dtype::float64 : op.result(op.common(dtype::float64));
  s.p.add_result(s.p.push({.code = op.code,
                           .type = type,
                           .a = static_cast<std::int16_t>(x[0].id),
                           .b = static_cast<std::int16_t>(x[1].id),
                           .c = static_cast<std::int16_t>(x[2].id)}));
  program value, pair;
  expand(s.p, value, op_rules_table, false);
  tangent(s.p, pair, op_rules_table, op.arity);
  REQUIRE(pair.result_count == 2);
  if (!is_floating(type)) {
    CHECK_MESSAGE(pair.results[1] < 0, op.name);
    return;
  }
  std::vector<row<long double>> dx;
  for (int k = 0; k < op.arity; ++k) {
    dx.push_back({0.3L + 0.2L * k, -0.7L + 0.1L * k, 0.45L - 0.3L * k});
    if (k >= p.numbers || (op.name == "where" && k == 0) || (op.name == "polygamma" && k == 0))
      dx.back().assign(3, 0.0L);
  }
  std::vector<row<double>> leaves = as<double>(p.x);
  for (const auto& r : as<double>(dx)) leaves.push_back(r);
  row<double> numbers;
  for (const auto& r : p.x) numbers.push_back(static_cast<double>(r[0]));
  const auto got = in_reals::run(pair, leaves, numbers);
  const auto values = in_reals::run(value, p.x, row<long double>(numbers.begin(), numbers.end()));
  const row<long double> want = op.name == "stop_gradient" ? row<long double>(3) : differences(value, p, dx);
  for (std::size_t i = 0; i < 3; ++i) {
    const double tangent_here = got[1].empty() ? 0 : got[1][i];
    CHECK_MESSAGE(std::abs(got[0][i] - static_cast<double>(values[0][i])) <= 1e-12, op.name);
    CHECK_MESSAGE(std::abs(tangent_here - static_cast<double>(want[i])) <=
                      1e-12 * std::max(1.0, std::abs(static_cast<double>(want[i]))),
                  message(op.name, " element ", i, ": ", tangent_here, " instead of ", static_cast<double>(want[i])));
  }
}

}  // namespace

TEST_CASE("tangent: the shares of all operands, added") {
  auto product = [](sheet& s) {
    const symbol a = s.leaf(0), b = s.leaf(1);
    return a * b;
  };
  CHECK(formula_of_tangent(product, 2) == "y0 = x0 * x1\ny1 = x2 * x1 + x3 * x0");
  CHECK(formula_of_tangent([](sheet& s) { return exp(s.leaf(0)); }, 1) == "y0 = exp(x0)\ny1 = x1 * exp(x0)");
  CHECK(formula_of_tangent([](sheet& s) { return s.leaf(0); }, 1) == "y0 = x0\ny1 = x1");
}

TEST_CASE("tangent: leaves that do not move have none, nor has what comes of them alone") {
  auto product = [](sheet& s) {
    const symbol a = s.leaf(0), b = s.leaf(1);
    return a * exp(b);
  };
  CHECK(formula_of_tangent(product, 2, 1) == "y0 = x0 * exp(x1)\ny1 = x2 * exp(x1)");
  CHECK(formula_of_tangent(product, 2, 0) == "y0 = x0 * exp(x1)\ny1 = none");
  CHECK(formula_of_tangent([](sheet& s) { return s.leaf(0) < 1; }, 1) == "y0 = x0 < 1\ny1 = none");
  CHECK(formula_of_tangent([](sheet& s) { return floor(s.leaf(0)) * 2 + 1; }, 1) ==
        "y0 = floor(x0) * 2 + 1\ny1 = none");
  CHECK(formula_of_tangent([](sheet& s) { return stop_gradient(s.leaf(0)) * s.number(0); }, 1) ==
        "y0 = stop_gradient(x0) * n0\ny1 = none");
}

TEST_CASE("tangent: casts carry it between floating types and end it at others") {
  CHECK(formula_of_tangent([](sheet& s) { return cast(s.leaf(0), dtype::float64); }, 1) ==
        "y0 = float64(x0)\ny1 = float64(x1)");
  CHECK(formula_of_tangent([](sheet& s) { return cast(s.leaf(0), dtype::int32); }, 1) == "y0 = int32(x0)\ny1 = none");
  CHECK(formula_of_tangent([](sheet& s) { return cast(s.leaf(0, dtype::int32), dtype::float32); }, 1) ==
        "y0 = float32(x0)\ny1 = none");
}

TEST_CASE("tangent: a reduction is one of the tangents") {
  auto dot = [](sheet& s) {
    const symbol a = s.leaf(0), b = s.leaf(1);
    return row_sum(a * b);
  };
  CHECK(formula_of_tangent(dot, 2) == "y0 = sum(x0 * x1)\ny1 = sum(x2 * x1 + x3 * x0)");
  // A value that is one per row counts once per element of the row.
  CHECK(formula_of_tangent([](sheet& s) { return row_sum(row_sum(s.leaf(0)) * 2); }, 1) ==
        "y0 = sum(sum(x0) * 2)\ny1 = sum(sum(x1) * 2)");
}

TEST_CASE("tangent: a leaf of one value per row has a tangent of one value per row") {
  const program out = tangent_of([](sheet& s) { return exp(s.leaf(0, dtype::float32, true)); }, 1);
  CHECK(text_of(out).find("leaf float32 x1 per row") != std::string::npos);
}

TEST_CASE("tangent: what is read at an address changes by the tangent's element there") {
  sheet s;
  const symbol way = s.leaf(0, dtype::int64);
  const symbol place{&s.p, s.p.push({.code = opcode::leaf,
                                     .type = dtype::float64,
                                     .slot = 1,
                                     .literal = static_cast<std::uint64_t>(leaf_kind::address)})};
  s.result(square(apply<take_op>(way, place)));
  program out;
  tangent(s.p, out, op_rules_table, 2);
  const auto got = in_reals::run<double>(out, {{2, 0, 1}, {5, 6, 7}, {}, {0.5, 0.25, 2}});
  CHECK(got[0] == row<double>{49, 25, 36});
  CHECK(got[1] == row<double>{2 * 7 * 2.0, 2 * 5 * 0.5, 2 * 6 * 0.25});
}

TEST_CASE("tangent: every op, against differences") {
  for (const op_rules& op : op_table<all_ops>::rules) {
    // Bits have no tangent, and take_op and checked_index_op want addresses: above.
    if (!op.accepts(dtype::float64)) continue;
    check_op(op);
  }
}

TEST_CASE("tangent: of a tangent") {
  // d/de d/dh of x^3 at x + h + e: 6 x.
  sheet s;
  const symbol x = s.leaf(0, dtype::float64);
  s.result(x * x * x);
  program first, second;
  tangent(s.p, first, op_rules_table, 1);
  tangent(first, second, op_rules_table, 2);
  REQUIRE(second.result_count == 4);
  const auto got = in_reals::run<double>(second, {{1.5}, {1}, {1}, {0}});
  CHECK(got[1][0] == doctest::Approx(3 * 1.5 * 1.5));
  CHECK(got[3][0] == doctest::Approx(6 * 1.5));
}

TEST_CASE("tangent: an op without a rule is an error that names it") {
  constexpr const rule_table& ops = op_table<op_list<add_op, sum_op, cast_op, without_a_rule_op>>::table;
  sheet s;
  s.result(apply<without_a_rule_op>(s.leaf(0)));
  program out;
  CHECK_THROWS_WITH_AS(
      tangent(s.p, out, ops, 1),
      "an op of this expression, without_a_rule, has no derivative rule: use stop_gradient() around it", graph_error);
  // Where nothing that moves goes through it, its rule is not asked for.
  program still;
  tangent(s.p, still, ops, 1, 0);
  CHECK(still.results[1] < 0);
}
