// SPDX-License-Identifier: BSL-1.0
// The gradient pass on tapes made by hand, against tapes written by hand.
#include <kiln/tape/gradient.hpp>

#include <doctest/doctest.h>

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
  CHECK(formula_of_gradient([](sheet& s) { return tanhshrink(s.leaf(0)); }, 1) == "g + -g * (1 - tanh(x0) * tanh(x0))");
}

TEST_CASE("gradient: a gradient can be differentiated again") {
  // d/dx of g * 3 x^2, as the gradient of x * x * x.
  sheet s;
  const symbol x = s.leaf(0);
  s.result(x * x * x);
  program first, second;
  gradient(s.p, first, op_rules_table, 1, dtype::float32);
  REQUIRE(first.result_count == 1);
  gradient(first, second, op_rules_table, 2, dtype::float32);
  CHECK(second.result_count == 2);  // by x, and by the gradient that arrived
  CHECK(second.results[0] >= 0);
  CHECK(second.results[1] >= 0);
}

TEST_CASE("gradient: what arrives is of the type that the result is stored as") {
  sheet s;
  s.result(s.leaf(0, dtype::float16) * s.number(0));
  program out;
  gradient(s.p, out, op_rules_table, 1, dtype::float16);
  CHECK(text_of(out).find("leaf float16 x1\n") != std::string::npos);
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
