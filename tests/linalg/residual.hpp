// SPDX-License-Identifier: BSL-1.0
// What results of linear algebra are held against: products written out, and numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/tensor.hpp>
#include <support/said.hpp>

namespace linear {

using namespace kiln;
using Doubles = Tensor<double>;
using test::holds;
using test::said;

// The largest difference between a b, written out, and c, all of them matrices.
inline double difference_of_product(const Doubles& a, const Doubles& b, const Doubles& c) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.size(0); ++i)
    for (std::int64_t j = 0; j < b.size(1); ++j) {
      double sum = -c(i, j);
      for (std::int64_t k = 0; k < a.size(1); ++k) sum += a(i, k) * b(k, j);
      worst = std::max(worst, std::isnan(sum) ? HUGE_VAL : std::abs(sum));
    }
  return worst;
}

inline bool all_near(const Doubles& x, std::initializer_list<double> expected) {
  const Doubles here = x.contiguous();
  return here.numel() == static_cast<std::int64_t>(expected.size()) &&
         std::equal(expected.begin(), expected.end(), here.data(),
                    [](double e, double got) { return std::abs(got - e) <= 1e-12 * (1 + std::abs(e)); });
}

}  // namespace linear
