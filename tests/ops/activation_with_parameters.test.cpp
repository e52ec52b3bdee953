// SPDX-License-Identifier: BSL-1.0
// Activation functions that take numbers, and selu, against PyTorch's definitions written out in more digits.
#include <kiln/ops/activation.hpp>

#include "battery.hpp"

using namespace battery;

namespace {
const limits_of_error few{4, 4, false, false}, chosen{.sign_of_zero = false};
}

TEST_CASE("leaky_relu, elu, celu, selu") {
  check_unary<leaky_relu_op>([](auto x) { return leaky_relu(x, 0.25); }, []<class R>(R x) { return x > 0 ? x : x / 4; },
                             limits_of_error{0.5, 0.5, false, false}, {-9, 9, 0.1, 3});
  check_unary<elu_op>([](auto x) { return elu(x, 1.5); },
                      []<class R>(R x) { return x > 0 ? x : R(1.5) * std::expm1(x); }, few, {-50, 9, -2, -0.1});
  check_unary<celu_op>([](auto x) { return celu(x, 2); },
                       []<class R>(R x) { return x > 0 ? x : 2 * std::expm1(x / 2); }, few, {-50, 9, -2, -0.1});
  check_unary<selu_op>([](auto x) { return selu(x); },
                       []<class R>(R x) {
                         const R scale = static_cast<R>(1.0507009873554804934193349852946L);
                         const R alpha = static_cast<R>(1.6732632423543772848170429916717L);
                         return scale * (x > 0 ? x : alpha * std::expm1(x));
                       },
                       few, {-50, 9, -2, -0.1});
}

TEST_CASE("softplus: the logarithm below its limit, the line above") {
  check_unary<softplus_op>([](auto x) { return softplus(x, 2, 10); },
                           []<class R>(R x) {
                             const R z = 2 * x;
                             if (z > 10) return x;
                             return (z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z))) / 2;
                           },
                           limits_of_error{6, 6}, {-40, 9});
}

TEST_CASE("softshrink, hardshrink, hardtanh, threshold") {
  check_unary<softshrink_op>([](auto x) { return softshrink(x, 0.5); },
                             []<class R>(R x) { return x > R(0.5)    ? x - R(0.5)
                                                       : x < R(-0.5) ? x + R(0.5)
                                                                     : 0 * x; },
                             limits_of_error{0.5, 0.5, false, false}, {-3, 3, 0.6, 3});
  check_unary<hardshrink_op>([](auto x) { return hardshrink(x, 0.5); },
                             []<class R>(R x) { return x >= R(-0.5) && x <= R(0.5) ? R(0) : x; }, chosen,
                             {-3, 3, 0.6, 3});
  check_unary<hardtanh_op>([](auto x) { return hardtanh(x, -2, 1.5); },
                           []<class R>(R x) { return std::isnan(x) ? x : std::min(std::max(x, R(-2)), R(1.5)); },
                           chosen, {-3, 3, -1.9, 1.4});
  check_unary<threshold_op>([](auto x) { return threshold(x, 0.5, -7); },
                            []<class R>(R x) { return x <= R(0.5) ? R(-7) : x; }, chosen, {-3, 3, 0.6, 3});
}

TEST_CASE("what numbers are left out when are PyTorch's") {
  const Tensor<double> x{-0.75, 0.25, 30.0};
  auto near = [&](auto e, double a, double b, double c) {
    const Tensor<double> y(e);
    CHECK(y(0) == doctest::Approx(a).epsilon(1e-12));
    CHECK(y(1) == doctest::Approx(b).epsilon(1e-12));
    CHECK(y(2) == doctest::Approx(c).epsilon(1e-12));
  };
  near(leaky_relu(x), -0.0075, 0.25, 30);
  near(elu(x), std::expm1(-0.75), 0.25, 30);
  near(celu(x), std::expm1(-0.75), 0.25, 30);
  near(softplus(x), std::log1p(std::exp(-0.75)), std::log1p(std::exp(0.25)), 30);
  near(softshrink(x), -0.25, 0, 29.5);
  near(hardshrink(x), -0.75, 0, 30);
  near(hardtanh(x), -0.75, 0.25, 1);
}

TEST_CASE("gradients at kinks are PyTorch's") {
  const Tensor<double> at{-1.0, -0.5, 0.0, 0.5, 1.0};
  auto g = [&](auto f) { return gradients_of<double>(f, at.clone()); };
  CHECK(g([](auto x) { return leaky_relu(x, 0.25); }) == std::vector<double>{0.25, 0.25, 0.25, 1, 1});
  CHECK(g([](auto x) { return elu(x); })[2] == 1);
  CHECK(g([](auto x) { return celu(x); })[2] == 1);
  CHECK(g([](auto x) { return selu(x); })[2] == doctest::Approx(1.7580993408473766));
  CHECK(g([](auto x) { return softshrink(x, 0.5); }) == std::vector<double>{1, 0, 0, 0, 1});
  CHECK(g([](auto x) { return hardshrink(x, 0.5); }) == std::vector<double>{1, 0, 0, 0, 1});
  CHECK(g([](auto x) { return hardtanh(x); }) == std::vector<double>{0, 1, 1, 1, 0});
  CHECK(g([](auto x) { return threshold(x, 0.5, 9); }) == std::vector<double>{0, 0, 0, 0, 1});
  CHECK(g([](auto x) { return softplus(x, 1, 0.4); })[4] == 1);
}
