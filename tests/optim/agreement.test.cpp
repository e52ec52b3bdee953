// SPDX-License-Identifier: BSL-1.0
// 60 steps in double beside PyTorch's, or for Lion and Lamb beside their papers' formulas in PyTorch: what an optimizer
// has no test of its own for.
#include <doctest/doctest.h>

#include <kiln/optim/adadelta.hpp>
#include <kiln/optim/adagrad.hpp>
#include <kiln/optim/adamax.hpp>
#include <kiln/optim/lion.hpp>
#include <kiln/optim/rmsprop.hpp>
#include <optim/agreement.hpp>

using namespace kiln;
using agreement::difference;

TEST_CASE("RMSprop, plain, centered, with momentum and with both") {
  using opt = optim::RMSprop<double>;
  using options = optim::rmsprop_options;
  CHECK(difference<opt>(options{}, torch_values::rmsprop) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.01, .alpha = 0.9, .centered = true}, torch_values::rmsprop_centered) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.01, .alpha = 0.9, .weight_decay = 0.1, .momentum = 0.6},
                        torch_values::rmsprop_momentum) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.005, .alpha = 0.8, .eps = 1e-6, .momentum = 0.6, .centered = true},
                        torch_values::rmsprop_both) < 1e-12);
}

TEST_CASE("Adagrad, Adadelta, Adamax") {
  using adagrad = optim::adagrad_options;
  CHECK(difference<optim::Adagrad<double>>(adagrad{.lr = 0.1}, torch_values::adagrad) < 1e-12);
  CHECK(difference<optim::Adagrad<double>>(
            adagrad{.lr = 0.2, .lr_decay = 0.05, .weight_decay = 0.1, .initial_accumulator_value = 0.3},
            torch_values::adagrad_decay) < 1e-12);
  using adadelta = optim::adadelta_options;
  CHECK(difference<optim::Adadelta<double>>(adadelta{}, torch_values::adadelta) < 1e-12);
  CHECK(difference<optim::Adadelta<double>>(adadelta{.lr = 0.5, .rho = 0.8, .weight_decay = 0.1},
                                            torch_values::adadelta_decay) < 1e-12);
  using adamax = optim::adamax_options;
  CHECK(difference<optim::Adamax<double>>(adamax{.lr = 0.02}, torch_values::adamax) < 1e-12);
  CHECK(difference<optim::Adamax<double>>(adamax{.lr = 0.02, .betas = {0.8, 0.95}, .weight_decay = 0.1},
                                          torch_values::adamax_decay) < 1e-12);
}

TEST_CASE("Lion") {
  using options = optim::lion_options;
  CHECK(difference<optim::Lion<double>>(options{.lr = 0.01}, torch_values::lion) < 1e-12);
  CHECK(difference<optim::Lion<double>>(options{.lr = 0.01, .betas = {0.95, 0.98}, .weight_decay = 0.1},
                                        torch_values::lion_decay) < 1e-12);
}

TEST_CASE("options out of range are refused by name") {
  Tensor<double> w{1, 2};
  w.requires_grad();
  const std::vector all{w};
  CHECK_THROWS_WITH_AS(optim::RMSprop(all, {.alpha = -0.1}),
                       "RMSprop: .alpha is -0.1: it must be a finite number from 0 on", value_error);
  CHECK_THROWS_WITH_AS(optim::Adamax(all, {.betas = {0.9, 1.5}}), "Adamax: .betas[1] is 1.5: it must be in [0, 1)",
                       value_error);
  CHECK_THROWS_AS(optim::Adagrad(all, {.lr_decay = -1}), value_error);
  CHECK_THROWS_AS(optim::Adadelta(all, {.rho = 1.1}), value_error);
  CHECK_THROWS_AS(optim::Lion(all, {.lr = std::nan("")}), value_error);
}
