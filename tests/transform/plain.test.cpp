// SPDX-License-Identifier: BSL-1.0
// Derivatives of functions of plain numbers against closed forms: every way to ask for them, in and around each other.
#include <kiln/transform/plain.hpp>

#include <kiln/transform/gradient.hpp>
#include <kiln/transform/jvp.hpp>
#include <kiln/transform/vjp.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace kiln;

namespace {

constexpr auto relu3 = [](auto x) { return where(x < 0, 0, where(x < 1, x * x * x / 3, x - 2.0 / 3)); };
constexpr auto cube = [](auto x) { return x * x * x; };
constexpr auto wave = [](auto x, auto y) { return sin(x) * exp(y * x); };
double wave_by_x(double x, double y) {
  return (std::cos(x) + y * std::sin(x)) * std::exp(y * x);
}
double wave_by_y(double x, double y) {
  return x * std::sin(x) * std::exp(y * x);
}
constexpr double small = 1e-15;

}  // namespace

TEST_CASE("plain numbers: one function, called with a number and differentiated") {
  static_assert(std::is_same_v<decltype(relu3(0.5f)), float>);
  static_assert(std::is_same_v<decltype(grad(relu3)(0.5f)), float>);
  static_assert(std::is_same_v<decltype(grad(relu3)(0.5)), double>);
  CHECK(relu3(0.5f) == doctest::Approx(0.125 / 3));
  for (const float x : {-0.5f, 0.25f, 0.5f, 3.0f}) CHECK(grad(relu3)(x) == (x < 0 ? 0.0f : x < 1 ? x * x : 1.0f));
}

TEST_CASE("plain numbers: in constant expressions") {
  static_assert(grad(cube)(3.0) == 27);
  static_assert(grad(grad(cube))(3.0) == 18);
  static_assert(jvp(cube, 3.0, 2.0).second == 54);
}

TEST_CASE("plain numbers: several arguments") {
  const double x = 0.5, y = 0.25;
  CHECK(std::abs(grad(wave)(x, y) - wave_by_x(x, y)) < small);
  CHECK(std::abs(grad<1>(wave)(x, y) - wave_by_y(x, y)) < small);
  const auto [value, both] = value_and_grad<0, 1>(wave)(x, y);
  CHECK(std::abs(value - std::sin(x) * std::exp(y * x)) < small);
  CHECK(std::abs(std::get<0>(both) - wave_by_x(x, y)) < small);
  CHECK(std::abs(std::get<1>(both) - wave_by_y(x, y)) < small);
  // The gradient by a float is a float; an integer is no more than a number.
  static_assert(std::is_same_v<decltype(grad(wave)(0.5f, 0.25)), float>);
  CHECK(grad([](auto a, auto n) { return a * a * n; })(1.5, 2) == 6);
}

TEST_CASE("plain numbers: what the function brings along") {
  const double a = 3, b = 0.5;
  CHECK(grad([=](auto x) { return a * x * x + b; })(2.0) == 12);
  CHECK(grad([](auto) { return 2; })(2.0) == 0);
  CHECK(grad([](auto x) { return x; })(2.0f) == 1);
  CHECK(grad([](auto x) { return floor(x); })(2.5) == 0);
  CHECK(grad([](auto x) { return stop_gradient(x) * x; })(2.5) == 2.5);
}

TEST_CASE("plain numbers: vjp and jvp") {
  const double x = 0.5, y = 0.25;
  const auto [value, pullback] = vjp(wave, x, y);
  const auto [by_x, by_y] = pullback(2.0);
  CHECK(std::abs(value - std::sin(x) * std::exp(y * x)) < small);
  CHECK(std::abs(by_x - 2 * wave_by_x(x, y)) < 2 * small);
  CHECK(std::abs(by_y - 2 * wave_by_y(x, y)) < 2 * small);
  CHECK(vjp(cube, 2.0f).second(0.5f) == 6);
  const auto [same, tangent] = jvp(wave, std::tuple{x, y}, std::tuple{3.0, -1.0});
  CHECK(same == value);
  CHECK(std::abs(tangent - (3 * wave_by_x(x, y) - wave_by_y(x, y))) < 4 * small);
  CHECK(jvp([](auto z) { return sign(z); }, 2.0, 1.0).second == 0);
}

TEST_CASE("plain numbers: derivatives of derivatives") {
  CHECK(grad(grad(cube))(2.0) == 12);
  CHECK(grad(grad(grad(cube)))(2.0) == 6);
  CHECK(grad(grad(relu3))(0.5f) == 1);
  CHECK(jvp(grad(cube), 2.0, 1.0).second == 12);                                                    // 6 x
  CHECK(grad([](auto x) { return jvp(cube, x, x).second; })(2.0) == 36);                            // (3 x^3)'
  CHECK(grad([](auto x) { return vjp(cube, x).second(x) * vjp(cube, x).first; })(2.0) == 18 * 32);  // (3 x^6)'
  const double x = 0.7, y = -0.3;
  const double mixed = std::exp(x * y) * (std::sin(x) + x * std::cos(x) + x * y * std::sin(x));
  CHECK(std::abs(grad<1>(grad<0>(wave))(x, y) - mixed) < small);
  CHECK(std::abs(grad<0>(grad<1>(wave))(x, y) - mixed) < small);
}

TEST_CASE("plain numbers: a function within another sees the inputs of that one, and they are not mixed up") {
  // d/dx of x d/dy (x y^2) at y = 2x: 12 x^2.
  auto nested = [](auto x) { return x * grad([=](auto y) { return x * y * y; })(2 * x); };
  CHECK(grad(nested)(2.0) == 48);
  // d/dx of d/dy (x y^2) at y = 3.
  CHECK(grad([](auto x) { return grad([=](auto y) { return x * y * y; })(3.0); })(2.0) == 6);
  // The known test of confused perturbations: d/dx of x d/dy (x + y) at y = 1 is 1.
  CHECK(grad([](auto x) { return x * grad([=](auto y) { return x + y; })(1.0); })(1.0) == 1);
  CHECK(jvp([](auto x) { return x * jvp([=](auto y) { return x + y; }, 1.0, 1.0).second; }, 1.0, 1.0).second == 1);
}

TEST_CASE("plain numbers: every smooth function's derivative, against differences") {
  auto check = [](auto f, double x) {
    const double h = 1e-3;
    const double slope = (8 * (f(x + h / 2) - f(x - h / 2)) - (f(x + h) - f(x - h))) / (6 * h);
    CHECK(grad(f)(x) == doctest::Approx(slope).epsilon(1e-9));
    CHECK(jvp(f, x, 1.0).second == doctest::Approx(slope).epsilon(1e-9));
  };
  check([](auto x) { return gelu(x) + silu(x) * tanh(x) - logsigmoid(x) / softplus(x); }, 0.6);
  check([](auto x) { return lgamma(x) + digamma(x) * erf(x) + polygamma(1, x); }, 1.6);
  check([](auto x) { return pow(x, 2.5) + hypot(x, 2) + atan2(x, 3) + lerp(x, 2 * x, 0.3); }, 0.6);
}
