// SPDX-License-Identifier: BSL-1.0
// Derivatives of derivatives, and several results of one kernel, on any device: against the processor, whose own are
// held against differences and plain loops elsewhere.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include <kiln/autograd/create_graph.hpp>
#include <kiln/autograd/grad.hpp>
#include <kiln/kiln.hpp>
#include <kiln/tensor/assign.hpp>

namespace device_test {

using namespace kiln;

inline Tensor<float> some(const dims& sizes, double phase) {
  Tensor<float> x = empty<float>(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data()[i] = static_cast<float>(1 + 0.5 * std::sin(static_cast<double>(i) * 0.7 + phase));
  return x;
}
template <class Device>
double furthest(const Tensor<float>& a, const Tensor<float, Device>& there) {
  const Tensor<float> b = there.to(Cpu{});
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a.data()[i]) - static_cast<double>(b.data()[i])));
  return most;
}

template <class Device, class F>
std::vector<Tensor<float, Device>> second(F f, std::vector<Tensor<float, Device>> x) {
  for (auto& t : x) t.requires_grad();
  const Tensor<float, Device> y = sum(f(x[0], x[1]));
  const auto first = grad(y, x, {.create_graph = true});
  const Tensor<float, Device> of_first = sum(first[0] * first[0]) + sum(first[1] * first[0]);
  return grad(of_first, x);
}

template <class Device>
void check_second_derivatives() {
  const Tensor<float> a = some({3, 4}, 0), b = some({4}, 1);
  const auto check = [&](auto f) {
    const auto here = second<Cpu>(f, {a.clone(), b.clone()});
    const auto there = second<Device>(f, {a.clone().to<Device>(), b.clone().to<Device>()});
    for (std::size_t k = 0; k < 2; ++k) CHECK(furthest(here[k], there[k]) < 2e-5);
  };
  check([](const auto& x, const auto& y) { return sin(x * y) + exp(y); });
  check([](const auto& x, const auto& y) { return softmax(x * y, 1); });
  check([](const auto& x, const auto& y) { return tanh(matmul(x, y)); });
}

template <class Device>
void check_several_results() {
  Tensor<float> m = some({1001}, 0), w = some({1001}, 1), g = some({1001}, 2);
  auto m2 = m.clone().to<Device>(), w2 = w.clone().to<Device>(), g2 = g.to<Device>();
  for (int step = 0; step < 2; ++step) {
    assign(std::tie(m, w), 0.9f * m + g, w - 0.1f * (0.9f * m + g) * w);
    assign(std::tie(m2, w2), 0.9f * m2 + g2, w2 - 0.1f * (0.9f * m2 + g2) * w2);
  }
  CHECK(furthest(m, m2) < 1e-5);
  CHECK(furthest(w, w2) < 1e-5);
}

}  // namespace device_test
