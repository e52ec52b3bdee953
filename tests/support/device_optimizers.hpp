// SPDX-License-Identifier: BSL-1.0
// Optimizers on any device: the same flat buffers, and the numbers of the processor.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include <kiln/kiln.hpp>
#include <kiln/optim/adam.hpp>
#include <kiln/optim/gradients.hpp>

namespace device_test {

using namespace kiln;

template <class Device>
void check_adam() {
  Tensor<float> w{{1, -2, 3}, {0.5f, 0.25f, -1}}, b{1, 2};
  Tensor<float, Device> there_w = w.clone().to<Device>(), there_b = b.clone().to<Device>();
  w.requires_grad(), b.requires_grad(), there_w.requires_grad(), there_b.requires_grad();
  optim::Adam opt(std::vector{w, b}, {.lr = 0.1, .weight_decay = 0.1});
  optim::Adam there(std::vector{there_w, there_b}, {.lr = 0.1, .weight_decay = 0.1});
  CHECK(there_b.data() == there_w.data() + 16);
  for (int t = 0; t < 4; ++t) {
    opt.zero_grad(), there.zero_grad();
    backward(sum(w * w) + sum(b * b * b));
    backward(sum(there_w * there_w) + sum(there_b * there_b * there_b));
    CHECK(there_b.grad().data() == there_w.grad().data() + 16);
    CHECK(optim::clip_grad_norm(there, 1.5) == doctest::Approx(optim::clip_grad_norm(opt, 1.5)).epsilon(1e-5));
    opt.step(), there.step();
  }
  const Tensor<float> came_w = there_w.template to<Cpu>(), came_b = there_b.template to<Cpu>();
  for (int i = 0; i < 2; ++i) {
    CHECK(came_b(i) == doctest::Approx(b(i)).epsilon(1e-5));
    for (int k = 0; k < 3; ++k) {
      CHECK(came_w(i, k) == doctest::Approx(w(i, k)).epsilon(1e-5));
    }
  }
  CHECK(there.state(there_b, "exp_avg").template to<Cpu>()(1) ==
        doctest::Approx(opt.state(b, "exp_avg")(1)).epsilon(1e-5));
}

}  // namespace device_test
