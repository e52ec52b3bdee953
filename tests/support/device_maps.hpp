// SPDX-License-Identifier: BSL-1.0
// Elementwise expressions of every kind in drawn layouts, with their gradients, on any device: against plain loops over
// doubles, gradients against central differences of those.
#pragma once

#include "support/device_operands.hpp"

namespace device_test {

// Where an expression has a kink or a jump, so that halves of drawn values do not meet it.
inline constexpr float odd = 0.0103f;

/// The slope of f at 0 by differences of second order: central ones, or, with a kink closer than that, those of the
/// side that has none. Among 100,000 drawn values some are that close.
template <class F>
double slope_of(const F& f) {
  const double h = 1e-6, here = f(0);
  const double up = f(h / 2), far_up = f(h), down = f(-h / 2), far_down = f(-h);
  const double right = (4 * up - 3 * here - far_up) / h, left = (3 * here - 4 * down + far_down) / h;
  if (std::abs(right - left) < 1e-4) return (far_up - far_down) / (2 * h);
  return std::abs((far_up - up) - (up - here)) < std::abs((here - down) - (down - far_down)) ? right : left;
}

/// One layout of one expression, of up to `most` elements: values, and gradients of the sum of values times weights.
template <class Device, class T, class OnTensors, class OnNumbers>
void check_map(const char* name, std::uint64_t seed, std::int64_t most, const OnTensors& on_tensors,
               const OnNumbers& on_numbers) {
  drawing draw(seed);
  const dims domain = drawn_domain(draw, 4, most);
  const bool gradients = is_floating(dtype_of<T>) && draw.below(2) == 0;
  operand<T, Device> x[3];
  for (int i = 0; i < 3; ++i)
    x[i] = drawn_operand<Device, T>(draw, domain, -2, 2, gradients, i == 2);  // the last has all sizes
  const operand<T, Device> weights = drawn_operand<Device, T>(draw, domain, -1, 1, false, true);
  std::vector<double> wanted;
  std::vector<double> slopes[3];
  for (int i = 0; i < 3; ++i) slopes[i].resize(x[i].values.size());
  each_index(domain, [&](const dims& index) {
    const double a[] = {x[0].at(index), x[1].at(index), x[2].at(index)};
    wanted.push_back(on_numbers(a[0], a[1], a[2]));
    if (!gradients) return;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto moved = [&](double by) {
        return on_numbers(a[0] + (k == 0 ? by : 0), a[1] + (k == 1 ? by : 0), a[2] + (k == 2 ? by : 0));
      };
      slopes[k][x[k].place(index)] += weights.at(index) * slope_of(moved);
    }
  });
  const auto expression = on_tensors(x[0].view, x[1].view, x[2].view);
  const Tensor<T, Device> got = expression;
  INFO(std::string(name), " in ", kiln::name(dtype_of<T>), ", seed ", seed, ", sizes ", message(domain), ", strides ",
       message(x[0].strides, x[1].strides));
  CHECK(distance(to_host(got), wanted, false) <= tolerance<T>());
  if constexpr (is_floating(dtype_of<T>)) {
    if (!gradients) return;
    backward(sum(expression * weights.view));
    for (int k = 0; k < 3; ++k) {
      INFO("gradient ", k);
      const double limit = std::max(2 * tolerance<T>(), 1e-8);  // central differences are no better
      // A tensor that the expression does not depend on, whose differences are all 0, need not have a gradient.
      const bool depends = std::any_of(slopes[k].begin(), slopes[k].end(), [](double slope) { return slope != 0; });
      CHECK((!depends || x[k].base.has_grad()));
      if (x[k].base.has_grad()) CHECK(distance(to_host(x[k].base.grad()), slopes[k]) <= limit);
    }
  }
}

/// Elementwise expressions of floating numbers, each handed to `check` with a seed of its own.
template <class Check>
void each_floating_map(Check check) {
  check(
      seed<1>{}, "relu(a*b + c + 0.0103) - tanh(a)/2",
      [](const auto& a, const auto& b, const auto& c) { return relu(a * b + c + odd) - 0.5f * tanh(a); },
      [](double a, double b, double c) { return std::max(0.0, a * b + c + double{odd}) - 0.5 * std::tanh(a); });
  check(
      seed<2>{}, "a*b - c", [](const auto& a, const auto& b, const auto& c) { return a * b - c; },
      [](double a, double b, double c) { return a * b - c; });
  check(
      seed<3>{}, "sigmoid(a) / (1 + exp(b)) * c",
      [](const auto& a, const auto& b, const auto& c) { return sigmoid(a) / (1.0f + exp(b)) * c; },
      [](double a, double b, double c) { return 1 / (1 + std::exp(-a)) / (1 + std::exp(b)) * c; });
  check(
      seed<4>{}, "where(a > b + 0.0103, a*a, c)",
      [](const auto& a, const auto& b, const auto& c) { return where(a > b + odd, a * a, c); },
      [](double a, double b, double c) { return a > b + double{odd} ? a * a : c; });
  check(
      seed<5>{}, "sqrt(|a| + 0.5) * log(b*b + 1) - c",
      [](const auto& a, const auto& b, const auto& c) { return sqrt(abs(a) + 0.5f) * log(b * b + 1.0f) - c; },
      [](double a, double b, double c) { return std::sqrt(std::abs(a) + 0.5) * std::log(b * b + 1) - c; });
  check(
      seed<6>{}, "gelu(a) + max(b, c + 0.0103)",
      [](const auto& a, const auto& b, const auto& c) { return gelu(a) + maximum(b, c + odd); },
      [](double a, double b, double c) {
        return a / 2 * std::erfc(-a / std::sqrt(2.0)) + std::max(b, c + double{odd});
      });
  check(
      seed<8>{}, "erf(a) * cos(b) + sin(c)",
      [](const auto& a, const auto& b, const auto& c) { return erf(a) * cos(b) + sin(c); },
      [](double a, double b, double c) { return std::erf(a) * std::cos(b) + std::sin(c); });
}
/// Expressions of whole numbers, each handed to `check`.
template <class Check>
void each_integer_map(Check check) {
  check(
      "a*b + c", 0, [](const auto& a, const auto& b, const auto& c) { return a * b + c; },
      [](double a, double b, double c) { return a * b + c; });
  check(
      "max(a, b) - min(b, c)", 1,
      [](const auto& a, const auto& b, const auto& c) { return maximum(a, b) - minimum(b, c); },
      [](double a, double b, double c) { return std::max(a, b) - std::min(b, c); });
}

}  // namespace device_test
