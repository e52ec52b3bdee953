// SPDX-License-Identifier: BSL-1.0
// Expressions in print against texts written by hand.
#include <kiln/expr/formula.hpp>
#include <kiln/expr/reductions.hpp>

#include <doctest/doctest.h>

#include "handles.hpp"

using namespace kiln;

namespace {
const handle<float> a({2, 3}), b({3}), c({3});
const handle<std::int32_t> k({3});
}  // namespace

TEST_CASE("formula: shows what was written, composite functions by name") {
  CHECK(formula(relu(a * b + c)) == "relu(x0 * x1 + x2)");
  CHECK(formula(softmax(a)) == "softmax(x0)");
  CHECK(formula(leaky_relu(a)) == "leaky_relu(x0, 0.01)");
  CHECK(formula(-(a - (b - c)) * 2) == "-(x0 - (x1 - x2)) * 2");
  CHECK(formula(product<handle<float>, handle<float>>{a, b} + c) == "matmul(x0, x1) + x2");
}

TEST_CASE("formula: numbers are as the program gave them") {
  CHECK(formula(relu(a) - 0.5f * tanh(a)) == "relu(x0) - 0.5 * tanh(x0)");
  CHECK(formula(0.1 * a) == "0.1 * x0");
  CHECK(formula(k + 0.5) == "float32(x0) + 0.5");
  CHECK(formula(where(k > 2, k, -1)) == "where(x0 > 2, x0, -1)");
}

TEST_CASE("formula: one tensor has one name, wherever it stands") {
  CHECK(formula(a * b + a) == "x0 * x1 + x0");
  CHECK(formula(a * b + c * b, {"w", "x"}) == "w * x + x2 * x");
}

TEST_CASE("tape_listing: shows what is computed") {
  CHECK(tape_listing(relu(a * b + 1)) ==
        "%0 = leaf float32 x0\n"
        "%1 = leaf float32 x1\n"
        "%2 = mul float32 %0 %1\n"
        "%3 = number float32 1\n"
        "%4 = add float32 %2 %3\n"
        "%5 = constant float32 0\n"
        "%6 = lt bool %4 %5\n"
        "%7 = where float32 %6 %5 %4\n"
        "result %7\n");
}

TEST_CASE("gradient_listing: the arriving gradient and the result have names") {
  CHECK(gradient_listing(tanh(a) * b, {"a", "b"}) ==
        "%0 = leaf float32 a\n"
        "%1 = tanh float32 %0\n"
        "%2 = leaf float32 b\n"
        "%3 = leaf float32 gradient\n"
        "%4 = mul float32 %3 %2\n"
        "%5 = mul float32 %3 %1\n"
        "%6 = mul float32 %1 %1\n"
        "%7 = constant float32 1\n"
        "%8 = sub float32 %7 %6\n"
        "%9 = mul float32 %4 %8\n"
        "result %9 %5\n");
  CHECK(gradient_listing(exp(a)).find("leaf float32 result") != std::string::npos);
}
