// SPDX-License-Identifier: BSL-1.0
// The gradient pass on tapes made by hand, against tapes written by hand.
#include <kiln/tape/gradient.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "plain.hpp"
#include "sheet.hpp"

using namespace kiln;

namespace {

// The gradient tape of what `write` gives, for leaves in slots [0, slots).
program gradient_of(auto write, int slots) {
  sheet s;
  s.result(write(s));
  program kept, out;
  expand(s.p, kept, op_rules_table, true);
  gradient(kept, out, op_rules_table, slots, s.p[s.p.results[0]].type);
  return out;
}
// Its results as formulas: g is the gradient that arrives, y the result's value.
std::string formula_of_gradient(auto write, int slots) {
  const program out = gradient_of(write, slots);
  tape_names names;
  names.leaves.resize(static_cast<std::size_t>(slots));
  names.leaves.push_back("g");
  names.leaves.push_back("y");
  return infix(view_of(out), op_rules_table, names);
}

}  // namespace

TEST_CASE("gradient: each op's rule, in one tape with results per leaf") {
  CHECK(formula_of_gradient([](sheet& s) { return s.leaf(0) * s.leaf(1); }, 2) == "y0 = g * x1\ny1 = g * x0");
  CHECK(formula_of_gradient([](sheet& s) { return s.leaf(0) - s.leaf(1); }, 2) == "y0 = g\ny1 = -g");
  CHECK(formula_of_gradient([](sheet& s) { return sin(s.leaf(0) * s.number(0)); }, 1) == "g * cos(x0 * n0) * n0");
}

TEST_CASE("gradient: the value of the result is read back, not computed again") {
  CHECK(formula_of_gradient([](sheet& s) { return exp(s.leaf(0)); }, 1) == "g * y");
  CHECK(formula_of_gradient([](sheet& s) { return tanh(s.leaf(0)); }, 1) == "g * (1 - y * y)");
  CHECK(formula_of_gradient([](sheet& s) { return exp(exp(s.leaf(0))); }, 1) == "g * y * exp(x0)");
  // A leaf is no result to read back: it would read what it defines.
  CHECK(formula_of_gradient([](sheet& s) { return s.leaf(0); }, 1) == "g");
}

TEST_CASE("gradient: a value used twice gets the sum of both") {
  CHECK(formula_of_gradient([](sheet& s) { return s.leaf(0) * s.leaf(0); }, 1) == "g * x0 + g * x0");
  CHECK(formula_of_gradient([](sheet& s) { return s.leaf(0) * s.leaf(1) + s.leaf(0); }, 2) ==
        "y0 = g + g * x1\ny1 = g * x0");
}

TEST_CASE("gradient: leaves that have none say so") {
  CHECK(formula_of_gradient([](sheet& s) { return where(s.leaf(0) > 0, s.leaf(1), s.leaf(2)); }, 3) ==
        "y0 = none\ny1 = where(x0 > 0, g, 0)\ny2 = where(x0 > 0, 0, g)");
  CHECK(formula_of_gradient([](sheet& s) { return stop_gradient(s.leaf(0)) * s.leaf(1); }, 2) ==
        "y0 = none\ny1 = g * stop_gradient(x0)");
  CHECK(formula_of_gradient([](sheet& s) { return s.leaf(1) + 1; }, 2) == "y0 = none\ny1 = g");
}

TEST_CASE("gradient: a reduction's gradient is one value per row, and arrives so") {
  const program out = gradient_of(
      [](sheet& s) {
        const symbol a = s.leaf(0), b = s.leaf(1);  // in this order with every compiler
        return row_sum(a * b);
      },
      2);
  CHECK(text_of(out) ==
        "%0 = leaf float32 x0\n"
        "%1 = leaf float32 x1\n"
        "%2 = leaf float32 x2 per row\n"
        "%3 = mul float32 %2 %1\n"
        "%4 = mul float32 %2 %0\n"
        "result %3 %4\n");
  const program top = gradient_of([](sheet& s) { return exp(row_sum(s.leaf(0))); }, 1);
  CHECK(text_of(top) ==
        "%0 = leaf float32 x2 per row\n"
        "%1 = leaf float32 x1 per row\n"
        "%2 = mul float32 %1 %0\n"
        "result %2\n");
}

TEST_CASE("gradient: what meets rows again is summed back over the row") {
  CHECK(formula_of_gradient([](sheet& s) { return s.leaf(0) - row_sum(s.leaf(0)); }, 1) == "g + sum(-g)");
  CHECK(formula_of_gradient([](sheet& s) { return s.leaf(0) * row_sum(s.leaf(1)); }, 2) ==
        "y0 = g * sum(x1)\ny1 = sum(g * x0)");
  // What goes back is one value per row, but it goes into the row's sum from each of its elements.
  CHECK(formula_of_gradient([](sheet& s) { return row_sum(s.leaf(0) - row_sum(s.leaf(0)) * 0.25); }, 1) ==
        "g + sum(-g) * 0.25");
  // The sum of a value that is constant along the row counts it once per element.
  CHECK(formula_of_gradient([](sheet& s) { return row_sum(row_sum(s.leaf(0)) * 2); }, 1) == "sum(g) * 2");
}

TEST_CASE("gradient: a cast passes it back in the operand's type, and integers stop it") {
  CHECK(formula_of_gradient([](sheet& s) { return cast(s.leaf(0), dtype::float64) * 0.1; }, 1) == "float32(g * 0.1)");
  CHECK(formula_of_gradient([](sheet& s) { return cast(s.leaf(0, dtype::int32), dtype::float32) * s.leaf(1); }, 2) ==
        "y0 = none\ny1 = g * float32(x0)");
}

TEST_CASE("gradient: composites with a rule use it, the others are differentiated step by step") {
  CHECK(formula_of_gradient([](sheet& s) { return relu(s.leaf(0)); }, 1) == "where(y <= 0, 0, g)");
  CHECK(formula_of_gradient([](sheet& s) { return square(s.leaf(0)); }, 1) == "g * (2 * x0)");
  CHECK(formula_of_gradient([](sheet& s) { return silu(s.leaf(0)); }, 1) ==
        "g * sigmoid(x0) + g * x0 * (sigmoid(x0) * (1 - sigmoid(x0)))");
}

namespace {

constexpr std::size_t length = 5;

// What a tape's results come to, each element with a weight of its own; of a value per row its first.
double weighted(const std::vector<plain::row>& values, const std::vector<plain::row>& weights,
                const std::vector<delivered_result>& results) {
  double total = 0;
  for (std::size_t r = 0; r < values.size(); ++r)
    for (std::size_t e = 0; e < values[r].size() && (e == 0 || results[r].at == level::element); ++e)
      total += weights[r][e] * values[r][e];
  return total;
}

// Differentiates a tape `orders` times, every gradient tape by its own definition, and compares each with differences
// of the one before it.
void check_orders(const program& written, int slots, const std::vector<bool>& per_row,
                  const std::vector<delivered_result>& results, std::vector<plain::row> at, int orders) {
  program kept, flat, tape;
  expand(written, kept, op_rules_table, true);
  expand(written, flat, op_rules_table, false);
  gradient(kept, tape, op_rules_table, slots, results.data());
  INFO(formula_of(kept));
  const std::size_t R = results.size(), S = static_cast<std::size_t>(slots);
  std::vector<plain::row> weights;
  for (std::size_t r = 0; r < R; ++r) {
    plain::row w(length);
    for (std::size_t e = 0; e < length; ++e)
      w[e] = results[r].at == level::row ? 0.7 + 0.2 * static_cast<double>(r)
                                         : std::sin(1.3 * static_cast<double>(e + 3 * r) + 0.4);
    weights.push_back(w);
  }
  auto inputs = at;
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  // Values that are read back; a tape that does not read one does not look.
  const auto values = plain::run(flat, at, length);
  auto all = inputs;
  for (const auto& v : values) all.push_back(v.empty() ? plain::row(length) : v);
  const auto got = plain::run(tape, all, length);
  REQUIRE(got.size() == S);
  for (std::size_t s = 0; s < S; ++s)
    for (std::size_t e = 0; e < length && (e == 0 || !per_row[s]); ++e) {
      auto slope = [&](double step) {
        auto moved = [&](double by) {
          auto x = at;
          for (std::size_t k = 0; k < length; ++k)
            if (k == e || per_row[s]) x[s][k] += by;
          return weighted(plain::run(flat, x, length), weights, results);
        };
        return (moved(step) - moved(-step)) / (2 * step);
      };
      const double near = slope(5e-4), far = slope(1e-3), mixed = (4 * near - far) / 3;
      // Where a choice changes sides within a step, differences see the jump: a shorter step does not.
      const bool jumps = std::abs(near - far) > 1e-2 * (1 + std::abs(near));
      const double want = jumps ? slope(1e-6) : mixed, close = jumps ? 1e-5 : 1e-7;
      const double value = got[s].empty() ? 0 : got[s][e];
      CHECK_MESSAGE(std::abs(value - want) <= close * (1 + std::abs(want)), "orders left ", orders, ", leaf ", s,
                    ", element ", e, ": ", value, ", by differences ", want);
    }
  if (orders == 1) return;
  // The next order differentiates a tape that reads nothing back: all of it depends on leaves and arriving gradients.
  std::vector<delivered_result> not_kept = results, next;
  for (auto& r : not_kept) r.read_back = false;
  program again;
  gradient(flat, again, op_rules_table, slots, not_kept.data());
  std::vector<bool> rows = per_row;
  for (const auto& r : results) rows.push_back(r.at == level::row);
  for (std::size_t s = 0; s < S; ++s)
    next.push_back({.stored = dtype::float64, .at = per_row[s] ? level::row : level::element});
  check_orders(again, slots + static_cast<int>(R), rows, next, inputs, orders - 1);
}

void check_orders(auto write, int elements, int rows, std::vector<level> levels, int orders) {
  sheet s;
  std::vector<symbol> x;
  std::vector<bool> per_row;
  std::vector<plain::row> at;
  for (int k = 0; k < elements + rows; ++k) {
    x.push_back(s.leaf(k, dtype::float64, k >= elements));
    per_row.push_back(k >= elements);
    plain::row values(length);
    for (std::size_t e = 0; e < length; ++e)
      values[e] = per_row.back() ? 0.8 : 0.9 + 0.4 * std::sin(2.1 * static_cast<double>(e) + k);
    at.push_back(values);
  }
  for (const symbol y : write(x)) s.result(y);
  std::vector<delivered_result> results;
  for (const level l : levels) results.push_back({.stored = dtype::float64, .at = l});
  check_orders(s.p, elements + rows, per_row, results, at, orders);
}

using symbols = std::vector<symbol>;
constexpr level element = level::element, row = level::row;

}  // namespace

TEST_CASE("gradient: of several results, of rows and of elements, to the third order") {
  auto check = [](auto write, int elements, int rows, std::vector<level> levels) {
    check_orders(write, elements, rows, std::move(levels), 3);
  };
  check([](const symbols& x) { return symbols{x[0] * x[1], sin(x[0]) + x[1]}; }, 2, 0, {element, element});
  // An optimizer's step.
  check(
      [](const symbols& x) {
        const symbol m = 0.9 * x[0] + 0.1 * x[3], v = 0.99 * x[1] + 0.01 * (x[3] * x[3]);
        return symbols{m, v, x[2] - 0.1 * (m / (sqrt(v) + 0.1))};
      },
      4, 0, {element, element, element});
  check([](const symbols& x) { return symbols{row_sum(x[0] * x[1]), x[0] * row_sum(x[1])}; }, 2, 0, {row, element});
  // One value per row that goes to every element, and the same once per row.
  check([](const symbols& x) { return symbols{exp(row_sum(x[0]) * 0.1)}; }, 1, 0, {element});
  check([](const symbols& x) { return symbols{exp(row_sum(x[0]) * 0.1)}; }, 1, 0, {row});
  check([](const symbols& x) { return symbols{x[0] * x[1], tanh(x[1])}; }, 1, 1, {element, row});
  check([](const symbols& x) { return symbols{x[0], x[0] * x[0], x[0]}; }, 1, 0, {element, element, element});
  check([](const symbols& x) { return symbols{row_sum(row_sum(x[0]) * x[1] * x[2])}; }, 2, 1, {row});
}
TEST_CASE("gradient: second derivatives of composite ops, by their own rules") {
  auto check = [](auto write, std::vector<level> levels) { check_orders(write, 1, 0, std::move(levels), 2); };
  check([](const symbols& x) { return symbols{apply<softmax_op>(x[0])}; }, {element});
  check([](const symbols& x) { return symbols{apply<log_softmax_op>(x[0])}; }, {element});
  check([](const symbols& x) { return symbols{apply<logsumexp_op>(x[0])}; }, {row});
  check(
      [](const symbols& x) {
        return symbols{silu(x[0]), square(x[0]), tanhshrink(x[0])};
      },
      {element, element, element});
  check([](const symbols& x) { return symbols{apply<prod_op>(x[0])}; }, {row});
}

namespace {

// Numbers that are the same everywhere.
struct numbers {
  std::uint64_t state;
  int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
  }
};
// A value per element of smooth ops, a few units large.
symbol drawn(numbers& d, const symbols& x, int depth) {
  if (depth == 0) return x[static_cast<std::size_t>(d.below(static_cast<int>(x.size())))];
  const symbol a = drawn(d, x, depth - 1);
  const int kind = d.below(11);
  if (kind == 0) return tanh(a);
  if (kind == 1) return sigmoid(a) + 0.5;
  if (kind == 2) return sin(a) * a;
  if (kind == 3) return exp(tanh(a));
  if (kind == 4) return a - row_sum(a) * 0.1;
  if (kind == 5) return apply<softmax_op>(a) * a;
  const symbol b = drawn(d, x, depth - 1);
  if (kind == 6) return a + b;
  if (kind == 7) return tanh(a) * b;
  if (kind == 8) return a / (b * b + 1);
  if (kind == 9) return tanh(a) * tanh(row_sum(b) * 0.2);
  return where(a < b, a * a, b * 0.5);
}

}  // namespace

TEST_CASE("gradient: drawn programs with several results, to the second order; KILN_FUZZ sets how many") {
  const char* const asked = std::getenv("KILN_FUZZ");
  for (int k = 0; k < (asked ? std::atoi(asked) : 60); ++k) {
    CAPTURE(k);
    numbers d{static_cast<std::uint64_t>(k) * 1000003u + 17};
    d.below(2);
    const int elements = 1 + d.below(3), rows = d.below(2), results = 1 + d.below(3);
    std::vector<level> levels;
    for (int r = 0; r < results; ++r) levels.push_back(d.below(3) == 0 ? row : element);
    check_orders(
        [&](const symbols& x) {
          symbols out;
          for (const level l : levels) {
            const symbol y = drawn(d, x, 1 + d.below(3));
            out.push_back(l == row ? tanh(row_sum(y) * 0.2) : y);
          }
          return out;
        },
        elements, rows, levels, 2);
  }
}

TEST_CASE("gradient: a gradient that does not arrive counts as zeros") {
  sheet s;
  const symbol x = s.leaf(0), y = s.leaf(1);
  s.result(x * y);
  s.result(exp(y));
  const delivered_result results[] = {{.arrives = true}, {.arrives = false}};
  program out;
  gradient(s.p, out, op_rules_table, 2, results);
  tape_names names;
  names.leaves = {"x", "y", "g0", "g1", "v0", "v1"};
  CHECK(infix(view_of(out), op_rules_table, names) == "y0 = g0 * y\ny1 = g0 * x");
}

TEST_CASE("gradient: results that a tape reads back stand behind the gradients that arrive") {
  sheet s;
  const symbol x = s.leaf(0);
  s.result(exp(x));
  s.result(tanh(x));
  const delivered_result results[] = {{}, {}};
  program out;
  gradient(s.p, out, op_rules_table, 1, results);
  tape_names names;
  names.leaves = {"x", "g0", "g1", "v0", "v1"};
  CHECK(infix(view_of(out), op_rules_table, names) == "g1 * (1 - v1 * v1) + g0 * v0");
}

TEST_CASE("gradient: what arrives is of the type that the result is stored as") {
  sheet s;
  s.result(s.leaf(0, dtype::float16) * s.number(0));
  program out;
  gradient(s.p, out, op_rules_table, 1, dtype::float16);
  CHECK(text_of(out).find("leaf float16 x1\n") != std::string::npos);
}

TEST_CASE("gradient: of half leaves it is computed in float, and sums nothing twice") {
  for (const dtype type : {dtype::float32, dtype::float16, dtype::bfloat16}) {
    CAPTURE(name(type));
    sheet s;
    const symbol x = s.leaf(0, type), w = s.leaf(1, type), n = s.number(0), eps = s.number(1);
    s.result(apply<layer_norm_op>(x, n, eps) * w);
    program kept, out;
    expand(s.p, kept, op_rules_table, true);
    gradient(kept, out, op_rules_table, 2, type);
    int sums = 0;
    for (int i = 0; i < out.size(); ++i) {
      CHECK(out[i].type == (out[i].code == opcode::leaf ? type : dtype::float32));
      sums += out[i].code == op_rules_table.sum;
    }
    CHECK(sums == 5);  // x, its distances and their squares, which both sides take; g w and g w times the distances
  }
}

TEST_CASE("gradient: an op without a rule is an error with a way out") {
  sheet s;
  const symbol x = s.leaf(0);
  s.p.add_result(
      s.p.push({.code = opcode_of("without_a_rule"), .type = dtype::float32, .a = static_cast<std::int16_t>(x.id)}));
  program out;
  CHECK_THROWS_WITH_AS(gradient(s.p, out, op_rules_table, 1, dtype::float32),
                       doctest::Contains("no derivative rule: use stop_gradient()"), graph_error);
}

TEST_CASE("gradient: a choice is made where the gradient arrives, the sides of one choice by one instruction") {
  // Nothing is chosen before it is multiplied, and no instruction is more than it was.
  CHECK(formula_of_gradient([](sheet& s) { return where(s.leaf(0) > 0, s.leaf(0), exp(s.leaf(0))); }, 1) ==
        "where(x0 > 0, g, g * exp(x0))");
  CHECK(formula_of_gradient([](sheet& s) { return where(s.leaf(0) > 0, log(s.leaf(0)), 0); }, 1) ==
        "where(x0 > 0, g / x0, 0)");
  CHECK(formula_of_gradient([](sheet& s) { return where(s.leaf(0) > 0, s.leaf(0) * s.number(0), s.leaf(0)); }, 1) ==
        "where(x0 > 0, g * n0, g)");
  // relu3: four terms, two choices.
  CHECK(formula_of_gradient(
            [](sheet& s) {
              const symbol x = s.leaf(0);
              return where(x < 0, 0, where(x < 1, x * x * s.number(0), x));
            },
            1) == "where(x0 < 0, 0, where(x0 < 1, g * n0 * x0 + g * n0 * x0, g))");
  // relu and softplus have rules of their own, and these stay as short as they were.
  CHECK(formula_of_gradient([](sheet& s) { return relu(s.leaf(0) * s.leaf(1)); }, 2) ==
        "y0 = where(y <= 0, 0, g) * x1\ny1 = where(y <= 0, 0, g) * x0");
}

TEST_CASE("gradient: what is compared with a result that was rounded to be stored is rounded, too") {
  sheet s;
  const symbol a = s.leaf(0, dtype::float16), b = s.leaf(1, dtype::float16);
  const symbol product{&s.p, s.p.push({.code = op_rules_table.mul,
                                       .type = dtype::float32,
                                       .a = static_cast<std::int16_t>(a.id),
                                       .b = static_cast<std::int16_t>(b.id)})};
  s.result(apply<max_op>(product));
  program out;
  gradient(s.p, out, op_rules_table, 2, dtype::float16);
  int casts = 0;
  for (int i = 0; i < out.size(); ++i) casts += out[i].code == op_rules_table.cast && out[i].type == dtype::float16;
  CHECK(casts == 1);
}
