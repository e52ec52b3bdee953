// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

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
