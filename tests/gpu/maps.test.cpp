// SPDX-License-Identifier: BSL-1.0
// Elementwise expressions of every kind, in every type and in drawn layouts, with their gradients: the device against
// plain loops over doubles, gradients against central differences of those.
#include "operands.hpp"

using namespace gpu_test;

namespace {

int tried = 0;
// Where an expression has a kink or a jump, so that halves of drawn values do not meet it.
constexpr float odd = 0.0103f;

// One layout of one expression: values, and gradients of the sum of values times weights.
template <class T, class OnTensors, class OnNumbers>
void check_map(const char* name, std::uint64_t seed, const OnTensors& on_tensors, const OnNumbers& on_numbers) {
  drawing draw(seed);
  const dims domain = drawn_domain(draw, 4);
  const bool gradients = is_floating(dtype_of<T>) && draw.below(2) == 0;
  operand<T> x[3];
  for (int i = 0; i < 3; ++i)
    x[i] = drawn_operand<T>(draw, domain, -2, 2, gradients, i == 2);  // the last has all sizes
  const operand<T> weights = drawn_operand<T>(draw, domain, -1, 1, false, true);
  std::vector<double> wanted;
  std::vector<double> slopes[3];
  for (int i = 0; i < 3; ++i) slopes[i].resize(x[i].values.size());
  each_index(domain, [&](const dims& index) {
    const double a[] = {x[0].at(index), x[1].at(index), x[2].at(index)};
    wanted.push_back(on_numbers(a[0], a[1], a[2]));
    if (!gradients) return;
    for (std::size_t k = 0; k < 3; ++k) {
      const double h = 1e-6;
      double up[] = {a[0], a[1], a[2]}, down[] = {a[0], a[1], a[2]};
      up[k] += h, down[k] -= h;
      slopes[k][x[k].place(index)] +=
          weights.at(index) * (on_numbers(up[0], up[1], up[2]) - on_numbers(down[0], down[1], down[2])) / (2 * h);
    }
  });
  const auto expression = on_tensors(x[0].view, x[1].view, x[2].view);
  const on_device<T> got = expression;
  INFO(std::string(name), " in ", kiln::name(dtype_of<T>), ", seed ", seed, ", sizes ", message(domain), ", strides ",
       message(x[0].strides, x[1].strides));
  CHECK(distance(to_host(got), wanted, false) <= tolerance<T>());
  ++tried;
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

template <class T, class OnTensors, class OnNumbers>
void check_layouts(const char* name, std::uint64_t seed, const OnTensors& on_tensors, const OnNumbers& on_numbers) {
  const std::uint64_t layouts = everything() ? 5 : 1;
  for (std::uint64_t i = 0; i < layouts; ++i) check_map<T>(name, seed * 1000 + i, on_tensors, on_numbers);
}
// In all floating types, or one of them.
template <std::uint64_t seed, class OnTensors, class OnNumbers>
void check_floating(const char* name, const OnTensors& on_tensors, const OnNumbers& on_numbers) {
  if constexpr (all_types || seed % 3 == 1) check_layouts<float>(name, seed, on_tensors, on_numbers);
  if constexpr (all_types || seed == 2) check_layouts<bfloat16>(name, seed, on_tensors, on_numbers);
  if constexpr (all_types) check_layouts<double>(name, seed, on_tensors, on_numbers);
  if constexpr (all_types) check_layouts<half>(name, seed, on_tensors, on_numbers);
}
template <class T>
void check_integers(std::uint64_t seed) {
  check_layouts<T>(
      "a*b + c", seed, [](const auto& a, const auto& b, const auto& c) { return a * b + c; },
      [](double a, double b, double c) { return a * b + c; });
  check_layouts<T>(
      "max(a, b) - min(b, c)", seed + 1,
      [](const auto& a, const auto& b, const auto& c) { return maximum(a, b) - minimum(b, c); },
      [](double a, double b, double c) { return std::max(a, b) - std::min(b, c); });
}

}  // namespace

TEST_CASE("gpu: elementwise expressions and their gradients are those of plain loops") {
  emulate::stand_in();
  check_floating<1>(
      "relu(a*b + c + 0.0103) - tanh(a)/2",
      [](const auto& a, const auto& b, const auto& c) { return relu(a * b + c + odd) - 0.5f * tanh(a); },
      [](double a, double b, double c) { return std::max(0.0, a * b + c + double{odd}) - 0.5 * std::tanh(a); });
  check_floating<2>(
      "a*b - c", [](const auto& a, const auto& b, const auto& c) { return a * b - c; },
      [](double a, double b, double c) { return a * b - c; });
  check_floating<3>(
      "sigmoid(a) / (1 + exp(b)) * c",
      [](const auto& a, const auto& b, const auto& c) { return sigmoid(a) / (1.0f + exp(b)) * c; },
      [](double a, double b, double c) { return 1 / (1 + std::exp(-a)) / (1 + std::exp(b)) * c; });
  check_floating<4>(
      "where(a > b + 0.0103, a*a, c)",
      [](const auto& a, const auto& b, const auto& c) { return where(a > b + odd, a * a, c); },
      [](double a, double b, double c) { return a > b + double{odd} ? a * a : c; });
  check_floating<5>(
      "sqrt(|a| + 0.5) * log(b*b + 1) - c",
      [](const auto& a, const auto& b, const auto& c) { return sqrt(abs(a) + 0.5f) * log(b * b + 1.0f) - c; },
      [](double a, double b, double c) { return std::sqrt(std::abs(a) + 0.5) * std::log(b * b + 1) - c; });
  check_floating<6>(
      "gelu(a) + max(b, c + 0.0103)",
      [](const auto& a, const auto& b, const auto& c) { return gelu(a) + maximum(b, c + odd); },
      [](double a, double b, double c) {
        return a / 2 * std::erfc(-a / std::sqrt(2.0)) + std::max(b, c + double{odd});
      });
  check_floating<8>(
      "erf(a) * cos(b) + sin(c)", [](const auto& a, const auto& b, const auto& c) { return erf(a) * cos(b) + sin(c); },
      [](double a, double b, double c) { return std::erf(a) * std::cos(b) + std::sin(c); });
  MESSAGE(tried, " expressions in layouts");
}

TEST_CASE("gpu: whole numbers are exact") {
  emulate::stand_in();
  check_integers<std::int32_t>(11);
  if constexpr (all_types) {
    check_integers<std::int64_t>(13);
    check_integers<std::int8_t>(15);
    check_integers<std::int16_t>(17);
  }
}
