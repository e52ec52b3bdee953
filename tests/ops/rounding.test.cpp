// SPDX-License-Identifier: BSL-1.0
// Rounding and sign, exactly.
#include <kiln/ops/rounding.hpp>

#include "battery.hpp"

using namespace battery;

TEST_CASE("floor, ceil, round, trunc: exact, the sign of zero kept, gradient zero") {
  const range r{-9, 9, 0.1, 0.9};
  check_unary<floor_op>([](auto x) { return floor(x); }, [](auto x) { return std::floor(x); }, exactly(), r);
  check_unary<ceil_op>([](auto x) { return ceil(x); }, [](auto x) { return std::ceil(x); }, exactly(), r);
  check_unary<trunc_op>([](auto x) { return trunc(x); }, [](auto x) { return std::trunc(x); }, exactly(), r);
  check_unary<round_op>([](auto x) { return round(x); }, [](auto x) { return std::nearbyint(x); }, exactly(),
                        {-9, 9, 0.6, 1.4});
  const Tensor<float> halves = round(Tensor<float>{0.5f, 1.5f, 2.5f, -0.5f, -1.5f});
  CHECK(halves(0) == 0);
  CHECK(halves(1) == 2);
  CHECK(halves(2) == 2);
  CHECK(halves(3) == 0);
  CHECK(std::signbit(halves(3)));
  CHECK(halves(4) == -2);
}

TEST_CASE("floor, ceil, round, trunc: integers are what they are") {
  auto itself = [](auto x) { return x; };
  check_integers<floor_op>([](auto x) { return floor(x); }, itself);
  check_integers<ceil_op>([](auto x) { return ceil(x); }, itself);
  check_integers<round_op>([](auto x) { return round(x); }, itself);
  check_integers<trunc_op>([](auto x) { return trunc(x); }, itself);
}

TEST_CASE("sign: -1, 0, 1 and nan; gradient zero, at zero too") {
  auto oracle = [](auto x) { return std::isnan(x) ? x : decltype(x)((x > 0) - (x < 0)); };
  check_unary<sign_op>([](auto x) { return sign(x); }, oracle, limits_of_error{.sign_of_zero = false}, {-9, 9, 0.1, 3});
  check_integers<sign_op>([](auto x) { return sign(x); },
                          [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); });
  CHECK(gradients_of<double>([](auto x) { return sign(x) + x; }, Tensor<double>{0.0})[0] == 1);
}
