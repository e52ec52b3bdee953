// SPDX-License-Identifier: BSL-1.0
// Exponentials against std:: in more digits.
#include <kiln/ops/exponential.hpp>

#include "battery.hpp"

using namespace battery;

TEST_CASE("exp, exp2, expm1: values and gradients") {
  check_unary<exp_op>([](auto x) { return exp(x); }, [](auto x) { return std::exp(x); }, stated<exp_op>(), {-100, 100});
  check_unary<exp2_op>([](auto x) { return exp2(x); }, [](auto x) { return std::exp2(x); }, stated<exp2_op>(),
                       {-150, 150});
  check_unary<expm1_op>([](auto x) { return expm1(x); }, [](auto x) { return std::expm1(x); }, stated<expm1_op>(),
                        {-30, 90});
}

TEST_CASE("sigmoid: values and gradients, without overflow on either side") {
  check_unary<sigmoid_op>([](auto x) { return sigmoid(x); },
                          [](auto x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); },
                          stated<sigmoid_op>(), {-100, 100, -6, 6});
}
