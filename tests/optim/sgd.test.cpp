// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <kiln/optim/sgd.hpp>
#include <optim/agreement.hpp>

using namespace kiln;
using agreement::difference;

TEST_CASE("SGD: 60 steps in double are PyTorch's, with a tensor that has no gradient in every third") {
  using opt = optim::SGD<double>;
  using options = optim::sgd_options;
  CHECK(difference<opt>(options{.lr = 0.05}, torch_values::sgd) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.02, .momentum = 0.9}, torch_values::sgd_momentum) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.02, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.1},
                        torch_values::sgd_dampening) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.02, .momentum = 0.8, .weight_decay = 0.05, .nesterov = true},
                        torch_values::sgd_nesterov) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.005, .maximize = true}, torch_values::sgd_maximize) < 1e-12);
}

TEST_CASE("SGD: options out of range are refused, when given and when set later") {
  Tensor<double> w{1, 2};
  w.requires_grad();
  const std::vector all{w};
  using options = optim::sgd_options;
  for (const options& bad :
       {options{.lr = -1}, options{.lr = std::nan("")}, options{.momentum = -0.1}, options{.weight_decay = -1},
        options{.momentum = 0.9, .dampening = std::nan("")}, options{.momentum = 0.9, .dampening = HUGE_VAL},
        options{.nesterov = true}, options{.momentum = 0.9, .dampening = 0.1, .nesterov = true}})
    CHECK_THROWS_AS(optim::SGD(all, bad), value_error);
  optim::SGD opt(all, {.lr = 0.1});
  backward(sum(w * w));
  opt.lr() = -3;
  CHECK_THROWS_AS(opt.step(), value_error);
  CHECK((w(0) == 1 && w(1) == 2));
}

TEST_CASE("SGD: tensors in braces") {
  Tensor<double> w{1, 2}, b{3};
  w.requires_grad();
  b.requires_grad();
  optim::SGD sgd({w, b}, {.lr = 0.5});
  static_assert(std::is_same_v<decltype(sgd), optim::SGD<double, Cpu>>);
  backward(sum(w * w) + sum(b));
  sgd.step();
  CHECK(w(0) == 0);
  CHECK(b(0) == 2.5);
}
