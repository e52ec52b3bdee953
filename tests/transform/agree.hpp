// SPDX-License-Identifier: BSL-1.0
// Inputs and comparisons of the tests of transforms.
#pragma once

#include <kiln/kiln.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

// n numbers that need no table: ((i * a + b) mod m) / m - 1/2, as stored.py has them.
inline kiln::Tensor<double> values(int n, int a, int b, int m) {
  kiln::Tensor<double> x = kiln::zeros<double>({n});
  for (int i = 0; i < n; ++i) x(i) = static_cast<double>((i * a + b) % m) / m - 0.5;
  return x;
}

inline void check_agrees(const kiln::Tensor<double>& got, const std::vector<double>& want, double scale = 1) {
  const kiln::Tensor<double> all = got.clone();
  REQUIRE(all.numel() == static_cast<std::int64_t>(want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(all.data()[i] - want[i]);
    CHECK_MESSAGE(error <= 1e-12 * std::max(scale, std::abs(want[i])),
                  kiln::message("element ", i, ": ", all.data()[i], " instead of ", want[i]));
  }
}
inline void check_agrees(const kiln::Tensor<double>& got, const kiln::Tensor<double>& want, double scale = 1) {
  CHECK(got.sizes() == want.sizes());
  const kiln::Tensor<double> all = want.clone();
  check_agrees(got, std::vector<double>(all.data(), all.data() + all.numel()), scale);
}
