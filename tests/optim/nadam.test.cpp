// SPDX-License-Identifier: BSL-1.0
// NAdam, RAdam and Lamb: 60 steps in double beside PyTorch's, or for Lamb beside its paper's formula in PyTorch.
#include <doctest/doctest.h>

#include <kiln/optim/lamb.hpp>
#include <kiln/optim/nadam.hpp>
#include <kiln/optim/radam.hpp>
#include <optim/agreement.hpp>

using namespace kiln;
using agreement::difference;

TEST_CASE("NAdam") {
  using opt = optim::NAdam<double>;
  using options = optim::nadam_options;
  CHECK(difference<opt>(options{.lr = 0.02}, torch_values::nadam) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.02, .betas = {0.8, 0.95}, .weight_decay = 0.1, .momentum_decay = 0.01},
                        torch_values::nadam_decay) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.02, .weight_decay = 0.1, .decoupled_weight_decay = true},
                        torch_values::nadam_decoupled) < 1e-12);
}

TEST_CASE("RAdam, before and after the second moment counts") {
  using opt = optim::RAdam<double>;
  using options = optim::radam_options;
  CHECK(difference<opt>(options{.lr = 0.05}, torch_values::radam) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.05, .betas = {0.8, 0.95}, .weight_decay = 0.1}, torch_values::radam_decay) <
        1e-12);
  CHECK(difference<opt>(options{.lr = 0.05, .weight_decay = 0.1, .decoupled_weight_decay = true},
                        torch_values::radam_decoupled) < 1e-12);
}

TEST_CASE("Lamb, and a tensor of zeros, which has no length") {
  using opt = optim::Lamb<double>;
  using options = optim::lamb_options;
  CHECK(difference<opt>(options{.lr = 0.02}, torch_values::lamb) < 1e-12);
  CHECK(difference<opt>(options{.lr = 0.02, .betas = {0.8, 0.95}, .weight_decay = 0.1}, torch_values::lamb_decay) <
        1e-12);
  Tensor<double> w = zeros<double>({3});
  w.requires_grad();
  optim::Lamb zero(std::vector{w}, {.lr = 0.5, .eps = 0});
  backward(sum(w));
  zero.step();
  CHECK(w(2) == doctest::Approx(-0.5).epsilon(1e-14));
}
