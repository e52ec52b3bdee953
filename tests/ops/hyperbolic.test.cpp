// SPDX-License-Identifier: BSL-1.0
// Hyperbolic functions and their inverses against std:: in more digits.
#include <kiln/ops/hyperbolic.hpp>

#include "battery.hpp"

using namespace battery;

TEST_CASE("sinh, cosh, tanh: values and gradients") {
  const range r{-100, 100, -2, 2};
  check_unary<sinh_op>([](auto x) { return sinh(x); }, [](auto x) { return std::sinh(x); }, stated<sinh_op>(), r);
  check_unary<cosh_op>([](auto x) { return cosh(x); }, [](auto x) { return std::cosh(x); }, stated<cosh_op>(), r);
  check_unary<tanh_op>([](auto x) { return tanh(x); }, [](auto x) { return std::tanh(x); }, stated<tanh_op>(),
                       {-10, 10, -2, 2});
}

TEST_CASE("asinh, acosh, atanh: values and gradients, nan outside their domain") {
  check_unary<asinh_op>([](auto x) { return asinh(x); }, [](auto x) { return std::asinh(x); }, stated<asinh_op>(),
                        {-50, 50, -3, 3});
  check_unary<acosh_op>([](auto x) { return acosh(x); }, [](auto x) { return std::acosh(x); }, stated<acosh_op>(),
                        {1, 50, 1.2, 4});
  check_unary<atanh_op>([](auto x) { return atanh(x); }, [](auto x) { return std::atanh(x); }, stated<atanh_op>(),
                        {-1, 1, -0.9, 0.9});
}
