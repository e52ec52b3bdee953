// SPDX-License-Identifier: BSL-1.0
// vjp of functions of tensors against closed forms: several arguments and results, calling a pullback again, mistakes.
#include <kiln/transform/reverse.hpp>

#include <kiln/transform/vjp.hpp>

#include "agree.hpp"

using namespace kiln;

namespace {
const Tensor<double> x{1.0, 2.0, 3.0}, v{0.5, -1.0, 2.0};
}

TEST_CASE("vjp: gradients of several arguments, by several results, again and again") {
  const auto f = [](const auto& a, const auto& b) { return std::tuple{a * b, sum(a)}; };
  const auto [values, pullback] = vjp(f, x, v);
  check_agrees(std::get<0>(values), Tensor<double>(x * v));
  CHECK(std::get<1>(values).item() == 6);
  for (const double scale : {1.0, 2.0}) {
    const Tensor<double> g = x * scale, h(scale);
    const auto [by_a, by_b] = pullback(g, h);
    check_agrees(by_a, Tensor<double>(g * v + scale));
    check_agrees(by_b, Tensor<double>(g * x));
    check_agrees(std::get<1>(pullback(std::tuple{g, h})), Tensor<double>(g * x));
  }
}

TEST_CASE("vjp: one argument, one result") {
  const auto [value, pullback] = vjp([](const auto& a) { return exp(a); }, x);
  check_agrees(value, Tensor<double>(exp(x)));
  check_agrees(pullback(v), Tensor<double>(v * exp(x)));
  check_agrees(pullback(v * 2), Tensor<double>(2 * v * exp(x)));
  CHECK(grad_enabled());
  {
    const no_grad quiet;
    check_agrees(vjp([](const auto& a) { return exp(a); }, x).second(v), Tensor<double>(v * exp(x)));
    CHECK_FALSE(grad_enabled());
  }
}

TEST_CASE("vjp: a cotangent of another shape is refused") {
  const auto pullback = vjp([](const auto& a) { return exp(a); }, x).second;
  CHECK_THROWS_WITH_AS(pullback(Tensor<double>{1.0, 2.0}), doctest::Contains("vjp: cotangent 0 has shape [2]"),
                       shape_error);
}
