// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <kiln/kiln.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/adam.hpp>
#include <optim/agreement.hpp>

using namespace kiln;
using agreement::difference;

TEST_CASE("Adam and AdamW: 60 steps in double are PyTorch's") {
  using options = optim::adam_options;
  using w_options = optim::adamw_options;
  using opt = optim::Adam<double>;
  CHECK(difference<opt>(options{.lr = 0.05}, torch_values::adam) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.05, .betas = {0.8, 0.95}, .weight_decay = 0.1}, torch_values::adam_decay) <
        1e-12);
  CHECK(difference<opt>(options{.lr = 0.1, .betas = {0.7, 0.9}, .amsgrad = true}, torch_values::adam_amsgrad) < 1e-12);
  CHECK(difference<opt>(options{.maximize = true}, torch_values::adam_maximize) < 1e-12);
  CHECK(difference<optim::AdamW<double>>(w_options{.lr = 0.05}, torch_values::adamw) < 1e-12);
  CHECK(
      difference<optim::AdamW<double>>(w_options{.lr = 0.1, .betas = {0.7, 0.9}, .weight_decay = 0.2, .amsgrad = true},
                                       torch_values::adamw_amsgrad) < 1e-12);
}

TEST_CASE("Adam: options out of range are refused") {
  Tensor<double> w{1, 2};
  w.requires_grad();
  using options = optim::adam_options;
  for (const options& bad : {options{.lr = -1}, options{.betas = {1, 0.9}}, options{.betas = {0.9, -0.1}},
                             options{.eps = -1}, options{.weight_decay = -1}})
    CHECK_THROWS_AS(optim::Adam(std::vector{w}, bad), value_error);
}

TEST_CASE("Adam: what a training uses after 20 steps is what it uses after 200") {
  const nn::Linear<float> first{8, 16}, second{16, 3};
  auto all = nn::parameters(first);
  for (const auto& p : nn::parameters(second)) all.push_back(p);
  optim::Adam<float> opt(all, {.lr = 1e-2});
  const Tensor<float> x = sin(arange<float>(256.0f)).eval().reshape({32, 8});
  const Tensor<std::int64_t> y = remainder(arange<std::int64_t>(32) * 7, 3);
  std::size_t early = 0, late = 0;
  float begin = 0, end = 0;
  for (int step = 1; step <= 200; ++step) {
    const Tensor<float> h = relu(first(x)), loss = nn::cross_entropy(second(h), y);
    opt.zero_grad();
    backward(loss);
    opt.step();
    end = loss.item();
    if (step == 1) begin = end;
    (step <= 20 ? early : late) = cpu::memory_stats().in_use;
  }
  CHECK(late == early);
  CHECK(end < begin);
}
