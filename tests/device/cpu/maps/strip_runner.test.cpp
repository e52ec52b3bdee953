// SPDX-License-Identifier: BSL-1.0
// Maps in strips: rows in place at any distance from each other, more of them than fit the cache, against plain loops.
#include <doctest/doctest.h>

#include <kiln/autograd/node.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/views.hpp>

using namespace kiln;

TEST_CASE("strip_runner: rows with gaps between them, over several outer axes, past the cache and within it") {
  for (const std::int64_t wide : {40, 700, 1601}) {
    const std::int64_t m = 70, k = 80, n = wide;
    CAPTURE(n);
    Tensor<float> x = empty<float>({m, k + 1, n + 3}), row = empty<float>({n}), column = empty<float>({m, 1, 1});
    for (std::int64_t i = 0; i < x.numel(); ++i) x.data()[i] = static_cast<float>(i % 509);
    for (std::int64_t i = 0; i < n; ++i) row.data()[i] = static_cast<float>(i);
    for (std::int64_t i = 0; i < m; ++i) column.data()[i] = static_cast<float>(1 + i);
    const auto part = x.narrow(1, 1, k).narrow(2, 2, n);
    Tensor<float> y;
    y = (part + row) * column;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t l = 0; l < n; ++l) {
          const std::int64_t from = (i * (k + 1) + j + 1) * (n + 3) + l + 2;
          wrong += y.data()[(i * k + j) * n + l] != static_cast<float>((from % 509 + l) * (1 + i));
        }
    CHECK(wrong == 0);
  }
}

TEST_CASE("strip_runner: gradients that are added to lie in place too") {
  Tensor<float> x = ones<float>({50, 64}), y = full<float>({50, 64}, 2.0f);
  y.narrow(1, 0, 40) += x.narrow(1, 3, 40) * 3.0f;
  for (std::int64_t i = 0; i < 50; ++i)
    for (std::int64_t j = 0; j < 64; ++j) CHECK(y(i, j) == (j < 40 ? 5.0f : 2.0f));
}
