// SPDX-License-Identifier: BSL-1.0
// Logarithms against std:: in more digits.
#include <kiln/ops/logarithm.hpp>

#include "battery.hpp"

using namespace battery;

TEST_CASE("log, log2, log10: values and gradients") {
  const range positive{0.01, 100, 0.2, 5};
  check_unary<log_op>([](auto x) { return log(x); }, [](auto x) { return std::log(x); }, stated<log_op>(), positive);
  check_unary<log2_op>([](auto x) { return log2(x); }, [](auto x) { return std::log2(x); }, stated<log2_op>(),
                       positive);
  check_unary<log10_op>([](auto x) { return log10(x); }, [](auto x) { return std::log10(x); }, stated<log10_op>(),
                        positive);
}

TEST_CASE("log1p: values and gradients, exact near zero") {
  check_unary<log1p_op>([](auto x) { return log1p(x); }, [](auto x) { return std::log1p(x); }, stated<log1p_op>(),
                        {-0.99, 20, -0.9, 3});
}
