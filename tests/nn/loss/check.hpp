// SPDX-License-Identifier: BSL-1.0
// Compares losses with PyTorch's: their values and gradients in double, for the inputs of make_values.py.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>

#include "nn/loss/values.hpp"
#include "support/live_torch.hpp"

namespace test {

inline kiln::Tensor<double> wave(double step, double begin, bool cosine = false) {
  auto x = kiln::empty<double>({4, 5});
  for (int i = 0; i < 20; ++i) x.data()[i] = cosine ? std::cos(step * i + begin) : std::sin(step * i + begin);
  return x;
}
/// The stored values of a loss, or those that PyTorch has made now.
inline loss_values live_or_stored(const std::string& name, const loss_values& stored) {
  return {live_or_stored(name, std::vector<double>{stored.value}).at(0),
          live_or_stored(name + ".gradient", stored.gradient)};
}
struct loss_inputs {
  kiln::Tensor<double> x = wave(1.7, 0.3 + live_shift()), t = wave(2.3, 0.9 + live_shift(), true),
                       z = wave(0.7, 2 + live_shift());
  kiln::Tensor<double> weight{0.5, 1.0, 2.0, 0.25, 1.5};
  kiln::Tensor<double> p = softmax(t, 1), q = (t + 1) / 2, signs = cast<double>(t > 0) * 2 - 1;
  kiln::Tensor<std::int64_t> labels{1, 4, 0, 3}, one_left_out{1, -100, 0, 3};
  loss_inputs() { x.requires_grad(); }
};

/// Checks the value and the gradient of a loss of `in.x` to 1e-12.
inline void check_loss(const std::string& name, const loss_inputs& in, const kiln::Tensor<double>& loss) {
  INFO(name);
  const loss_values known = live_or_stored(name, known_losses.at(name));
  REQUIRE(known.gradient.size() == 20);
  const kiln::Tensor<double> total = loss.dim() == 0 ? loss : kiln::Tensor<double>(sum(loss));
  CHECK(std::abs(total.item() - known.value) <= 1e-12 * (1 + std::abs(known.value)));
  kiln::Tensor<double> x = in.x;
  x.zero_grad();
  backward(total);
  for (std::size_t i = 0; i < 20; ++i) {
    INFO(i);
    CHECK(std::abs(x.grad().data()[i] - known.gradient[i]) <= 1e-12 * (1 + std::abs(known.gradient[i])));
  }
}

}  // namespace test
