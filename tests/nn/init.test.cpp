// SPDX-License-Identifier: BSL-1.0
// Initialisations: the bounds and moments of their distributions, and that they require grad.
#include <kiln/nn/init.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include <kiln/expr/reductions.hpp>

using namespace kiln;

namespace {
void check_uniform(const Tensor<double>& x, double bound) {
  const Tensor<double> largest = max(abs(x)), average = mean(x), variance = mean(square(x));
  CHECK(x.needs_grad());
  CHECK(largest.item() <= bound);
  CHECK(largest.item() > 0.99 * bound);
  const double n = static_cast<double>(x.numel());
  CHECK(std::abs(average.item()) < 5 * bound / std::sqrt(3 * n));
  CHECK(variance.item() == doctest::Approx(bound * bound / 3).epsilon(0.05));
}
}  // namespace

TEST_CASE("init: uniform distributions up to their bounds") {
  manual_seed(3);
  check_uniform(nn::init::uniform<double>({100, 50}, 0.3), 0.3);
  check_uniform(nn::init::fan_in<double>({100, 64}, 64), 1.0 / 8);
  check_uniform(nn::init::xavier_uniform<double>({100, 50}, 2), 2 * std::sqrt(6.0 / 150));
}

TEST_CASE("init: normal and constant") {
  manual_seed(4);
  const Tensor<double> x = nn::init::normal<double>({5000}, 0.5), variance = mean(square(x));
  CHECK(variance.item() == doctest::Approx(0.25).epsilon(0.1));
  CHECK(x.needs_grad());
  CHECK(nn::init::constant<float>({2}, 3)(1) == 3);
  CHECK(nn::parameter(ones<float>({2}) * 2).needs_grad());
  CHECK(nn::init::fan_in<float>({3, 0}, 0).numel() == 0);
}
