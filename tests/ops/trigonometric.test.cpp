// SPDX-License-Identifier: BSL-1.0
// Trigonometric functions and their inverses against std:: in more digits.
#include <kiln/ops/trigonometric.hpp>

#include "battery.hpp"

using namespace battery;

TEST_CASE("sin, cos, tan: values and gradients, also of huge angles") {
  const range r{-100, 100, -1.4, 1.4};
  check_unary<sin_op>([](auto x) { return sin(x); }, [](auto x) { return std::sin(x); }, stated<sin_op>(), r);
  check_unary<cos_op>([](auto x) { return cos(x); }, [](auto x) { return std::cos(x); }, stated<cos_op>(), r);
  check_unary<tan_op>([](auto x) { return tan(x); }, [](auto x) { return std::tan(x); }, stated<tan_op>(), r);
}

TEST_CASE("asin, acos, atan: values and gradients, nan outside their domain") {
  const range r{-1, 1, -0.9, 0.9};
  check_unary<asin_op>([](auto x) { return asin(x); }, [](auto x) { return std::asin(x); }, stated<asin_op>(), r);
  check_unary<acos_op>([](auto x) { return acos(x); }, [](auto x) { return std::acos(x); }, stated<acos_op>(), r);
  check_unary<atan_op>([](auto x) { return atan(x); }, [](auto x) { return std::atan(x); }, stated<atan_op>(),
                       {-10, 10, -3, 3});
}

TEST_CASE("atan2: the quadrant, zeros and infinities are those of std::atan2") {
  check_binary<atan2_op>([](auto a, auto b) { return atan2(a, b); }, [](auto a, auto b) { return std::atan2(a, b); },
                         stated<atan2_op>(), {-10, 10, 0.5, 3}, {-10, 10, -3, -0.3});
}
