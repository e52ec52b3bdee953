// SPDX-License-Identifier: BSL-1.0
// How layers begin: PyTorch's initialisations, as tensors that require grad.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include <kiln/autograd/node.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/random.hpp>

namespace kiln::nn {

/// The tensor, which requires grad from now on: `Tensor<float> scale = nn::parameter(ones<float>({8}));`.
template <Expression X>
auto parameter(const X& x) {
  auto made = detach(x);
  return made.requires_grad();
}

namespace init {

/// Numbers from -bound to bound, each as likely as the others.
template <Element T, class D = Cpu>
Tensor<T, D> uniform(const dims& sizes, double bound, D where = {}) {
  return detach(cast<T>(rand<T, D>(sizes, default_generator(), where) * (2 * bound) - bound)).requires_grad();
}
/// Numbers of the normal distribution.
template <Element T, class D = Cpu>
Tensor<T, D> normal(const dims& sizes, double deviation = 1, D where = {}) {
  Tensor<T, D> x = randn<T, D>(sizes, default_generator(), where);
  if (deviation != 1) x = detach(cast<T>(x * deviation));
  return x.requires_grad();
}
/// All of one value.
template <Element T, class D = Cpu>
Tensor<T, D> constant(const dims& sizes, double value, D where = {}) {
  return full<T, D>(sizes, value, where).requires_grad();
}
/// What weights and biases of linear and convolutional layers begin with in PyTorch, kaiming_uniform with a = sqrt(5):
/// uniform up to 1 / sqrt(fan_in), the number of inputs of one output (He, Zhang, Ren, Sun 2015).
template <Element T, class D = Cpu>
Tensor<T, D> fan_in(const dims& sizes, std::int64_t inputs, D where = {}) {
  return uniform<T, D>(sizes, inputs > 0 ? 1 / std::sqrt(static_cast<double>(inputs)) : 0, where);
}
/// Uniform up to gain sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010), of a matrix (outputs, inputs).
template <Element T, class D = Cpu>
Tensor<T, D> xavier_uniform(const dims& sizes, double gain = 1, D where = {}) {
  const double both = static_cast<double>(sizes[0]) + static_cast<double>(sizes[1]);
  return uniform<T, D>(sizes, gain * std::sqrt(6 / both), where);
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template Tensor<float> uniform(const dims&, double, Cpu);
#endif

}  // namespace init

}  // namespace kiln::nn
