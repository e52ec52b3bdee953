// SPDX-License-Identifier: BSL-1.0
// Composite ops written out.
#include <kiln/tape/expand.hpp>

#include <doctest/doctest.h>

#include "sheet.hpp"

using namespace kiln;

namespace {
// What the expression becomes, composites with a derivative rule of their own kept or not.
std::string expanded(auto write, bool keep_differentiable = false) {
  sheet s;
  s.result(write(s));
  program flat, out;
  expand(s.p, flat, op_rules_table, keep_differentiable);
  keep_needed(flat, out);
  return formula_of(out);
}
}  // namespace

TEST_CASE("expand: a composite op becomes its value rule") {
  CHECK(expanded([](sheet& s) { return relu(s.leaf(0) + 1); }) == "where(x0 + 1 < 0, 0, x0 + 1)");
  CHECK(expanded([](sheet& s) { return square(s.leaf(0)); }) == "x0 * x0");
  CHECK(expanded([](sheet& s) { return leaky_relu(s.leaf(0), 0.25); }) == "where(x0 > 0, x0, 0.25 * x0)");
}

TEST_CASE("expand: primitive ops stay as they are") {
  CHECK(expanded([](sheet& s) { return tanh(s.leaf(0)) * s.number(0); }) == "tanh(x0) * n0");
}

TEST_CASE("expand: composites inside composites are written out too") {
  CHECK(expanded([](sheet& s) { return softmax_op::value(square(s.leaf(0))); }) ==
        "exp(x0 * x0 - max(x0 * x0)) * (1 / sum(exp(x0 * x0 - max(x0 * x0))))");
}

TEST_CASE("expand: for the gradient, composites with a rule of their own stay") {
  auto both = [](sheet& s) { return relu(silu(s.leaf(0))); };
  CHECK(expanded(both, true) == "relu(x0 * sigmoid(x0))");
  CHECK(expanded(both, false).find("relu") == std::string::npos);
}

TEST_CASE("expand: half operands are computed with as float") {
  sheet s;
  const symbol x = s.leaf(0, dtype::float16);
  s.p.add_result(s.p.push({.code = opcode_of("square"), .type = dtype::float32, .a = static_cast<std::int16_t>(x.id)}));
  program flat;
  expand(s.p, flat, op_rules_table, false);
  CHECK(text_of(flat) ==
        "%0 = leaf float16 x0\n"
        "%1 = mul float32 %0 %0\n"
        "result %1\n");
}
