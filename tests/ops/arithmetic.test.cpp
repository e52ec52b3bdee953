// SPDX-License-Identifier: BSL-1.0
// Arithmetic of floats against the exactly rounded result. Integers: arithmetic_of_integers.test.cpp.
#include <kiln/ops/arithmetic.hpp>

#include "battery.hpp"

using namespace battery;

namespace {

auto floored(auto a, auto b) {
  const auto r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace

TEST_CASE("+ - * /: rounded once, on floats") {
  check_binary<add_op>([](auto a, auto b) { return a + b; }, [](auto a, auto b) { return a + b; }, rounded());
  check_binary<sub_op>([](auto a, auto b) { return a - b; }, [](auto a, auto b) { return a - b; }, rounded());
  check_binary<mul_op>([](auto a, auto b) { return a * b; }, [](auto a, auto b) { return a * b; }, rounded());
  check_binary<div_op>([](auto a, auto b) { return a / b; }, [](auto a, auto b) { return a / b; }, rounded(), {},
                       {-20, 20, 0.4, 3});
}

TEST_CASE("negation, abs, square, reciprocal: rounded once") {
  check_unary<neg_op>([](auto x) { return -x; }, [](auto x) { return -x; }, exactly());
  check_unary<abs_op>([](auto x) { return abs(x); }, [](auto x) { return std::abs(x); }, exactly(), {-20, 20, 0.1, 3});
  check_unary<square_op>([](auto x) { return square(x); }, [](auto x) { return x * x; }, rounded());
  check_unary<reciprocal_op>([](auto x) { return reciprocal(x); }, [](auto x) { return 1 / x; }, rounded(),
                             {-20, 20, 0.3, 3});
}

TEST_CASE("sqrt, rsqrt: values and gradients") {
  check_unary<sqrt_op>([](auto x) { return sqrt(x); }, [](auto x) { return std::sqrt(x); }, rounded(), {0, 50, 0.2, 9});
  check_unary<rsqrt_op>([](auto x) { return rsqrt(x); }, [](auto x) { return 1 / std::sqrt(x); }, stated<rsqrt_op>(),
                        {0, 50, 0.2, 9});
}

TEST_CASE("root: is sqrt, but for its gradient at zero") {
  check_unary<root_op>([](auto x) { return apply<root_op>(x); }, [](auto x) { return std::sqrt(x); }, rounded(),
                       {0, 50, 0.2, 9});
  CHECK(gradients_of<double>([](auto x) { return apply<root_op>(x); }, Tensor<double>{0.0, 4.0}) ==
        std::vector<double>{0, 0.25});
}

TEST_CASE("pow, hypot: values and gradients") {
  check_binary<pow_op>([](auto a, auto b) { return pow(a, b); }, [](auto a, auto b) { return std::pow(a, b); },
                       stated<pow_op>(), {0, 20, 0.3, 3}, {-8, 8, -2.5, 2.5});
  check_binary<hypot_op>([](auto a, auto b) { return hypot(a, b); }, [](auto a, auto b) { return std::hypot(a, b); },
                         stated<hypot_op>(), {-20, 20, 0.5, 3}, {-20, 20, -3, -0.5});
}

TEST_CASE("pow: at zero and one the gradients are limits, not 0 * inf") {
  auto by_both = [](double a, double b) {
    return gradients_of<double>([](auto x, auto y) { return pow(x, y); }, Tensor<double>{a}, Tensor<double>{b});
  };
  CHECK(by_both(0, 2) == std::vector<double>{0, 0});
  CHECK(by_both(0, 1) == std::vector<double>{1, 0});
  CHECK(by_both(0, 0) == std::vector<double>{0, 0});
  CHECK(by_both(3, 0)[0] == 0);
  CHECK(by_both(3, 0)[1] == doctest::Approx(std::log(3.0)));
  CHECK(by_both(1, 5) == std::vector<double>{5, 0});
  // A negative base: the exponent's gradient does not exist, the base's does.
  CHECK(by_both(-2, 3)[0] == 12);
}

TEST_CASE("fmod, remainder: exact up to the last rounding, the sign of dividend or divisor") {
  check_binary<fmod_op>([](auto a, auto b) { return fmod(a, b); }, [](auto a, auto b) { return std::fmod(a, b); },
                        exactly(), {}, {-3, 3, 4.1, 5});
  check_binary<remainder_op>([](auto a, auto b) { return remainder(a, b); },
                             [](auto a, auto b) { return floored(a, b); }, rounded(), {-20, 20, 0.2, 2},
                             {-3, 3, 4.1, 5});
  const auto check = check_gradient([](auto a, auto b) { return fmod(a, b) + remainder(a, b); },
                                    Tensor<double>{7.3, -7.3, 5.2}, Tensor<double>{2.1, 2.1, -1.7});
  CHECK_MESSAGE(check.agrees, check.text);
}

TEST_CASE("gradients at kinks and poles are PyTorch's") {
  CHECK(gradients_of<double>([](auto x) { return abs(x); }, Tensor<double>{0.0, -0.0, -2.0}) ==
        std::vector<double>{0, 0, -1});
  CHECK(gradients_of<double>([](auto x) { return sqrt(x); }, Tensor<double>{0.0})[0] ==
        std::numeric_limits<double>::infinity());
  const auto g = gradients_of<double>([](auto x, auto y) { return x / y; }, Tensor<double>{1.0}, Tensor<double>{0.0});
  CHECK(g[0] == std::numeric_limits<double>::infinity());
  CHECK(g[1] == -std::numeric_limits<double>::infinity());
}
