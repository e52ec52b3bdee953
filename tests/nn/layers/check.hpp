// SPDX-License-Identifier: BSL-1.0
// Compares layers with PyTorch's: names of parameters, results and gradients in double, for the values of
// make_values.py.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/tensor/creation.hpp>

#include "nn/layers/values.hpp"
#include "support/live_torch.hpp"

namespace test {

inline kiln::Tensor<double> wave(const kiln::dims& sizes, double step, double begin, bool cosine = false) {
  auto x = kiln::empty<double>(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double angle = step * static_cast<double>(i) + begin;
    x.data()[i] = cosine ? std::cos(angle) : std::sin(angle);
  }
  return x;
}
inline double dot_with_wave(const kiln::Tensor<double>& gradient) {
  const kiln::Tensor<double> g = gradient.clone(), w = wave(g.sizes(), 0.7, 0, true);
  double sum = 0;
  for (std::int64_t i = 0; i < g.numel(); ++i) sum += g.data()[i] * w.data()[i];
  return sum;
}

/// Fills the layer's parameters, runs `call` with inputs of these sizes, and checks all to 1e-12.
template <class M, class F>
void check_layer(const std::string& name, const M& layer, const std::vector<kiln::dims>& sizes, F call) {
  INFO(name);
  layer_values known = known_layers.at(name);
  known.result = live_or_stored(name, known.result);
  std::vector<double> of_gradients;
  for (const auto& [its_name, value] : known.gradients) of_gradients.push_back(value);
  of_gradients = live_or_stored(name + ".gradients", of_gradients);
  REQUIRE(of_gradients.size() == known.gradients.size());
  for (std::size_t i = 0; i < of_gradients.size(); ++i) known.gradients[i].second = of_gradients[i];
  std::vector<std::pair<std::string, kiln::Tensor<double>>> parameters;
  if constexpr (!std::is_void_v<kiln::nn::detail::found_tensor<M>>) parameters = kiln::nn::named_parameters(layer);
  {
    const kiln::no_grad quiet;
    double k = 0;
    for (auto [its_name, p] : parameters) {
      auto values = wave(p.sizes(), 0.37, live_shift() + k++);
      for (std::int64_t i = 0; i < p.numel(); ++i) p.data()[i] = values.data()[i] / 2;
    }
  }
  std::vector<kiln::Tensor<double>> inputs;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    inputs.push_back(wave(sizes[j], 1.3, 0.2 + static_cast<double>(j) + live_shift()));
    inputs.back().requires_grad();
  }
  const kiln::Tensor<double> y = call(layer, inputs);
  REQUIRE(y.sizes() == kiln::dims(known.sizes));
  const kiln::Tensor<double> values = y.detach().clone();
  REQUIRE(static_cast<std::int64_t>(known.result.size()) == values.numel());
  for (std::size_t i = 0; i < known.result.size(); ++i) {
    INFO(i);
    CHECK(std::abs(values.data()[i] - known.result[i]) <= 1e-12 * (1 + std::abs(known.result[i])));
  }
  kiln::backward(kiln::Tensor<double>(sum(y * wave(y.sizes(), 0.9, 0, true))));
  std::vector<std::pair<std::string, double>> found;
  for (std::size_t j = 0; j < inputs.size(); ++j)
    found.emplace_back("input" + std::to_string(j), dot_with_wave(inputs[j].grad()));
  for (const auto& [its_name, p] : parameters) found.emplace_back(its_name, dot_with_wave(p.grad()));
  REQUIRE(found.size() == known.gradients.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].first == known.gradients[i].first);
    INFO(found[i].first);
    CHECK(std::abs(found[i].second - known.gradients[i].second) <= 1e-11 * (1 + std::abs(known.gradients[i].second)));
  }
}
template <class M>
void check_layer(const std::string& name, const M& layer, const kiln::dims& sizes) {
  check_layer(name, layer, {sizes},
              [](const M& m, const std::vector<kiln::Tensor<double>>& x) { return kiln::Tensor<double>(m(x[0])); });
}

}  // namespace test
