// SPDX-License-Identifier: BSL-1.0
// Maps of an operand whose fast axis is another one, against plain loops: every width of element, sizes around squares
// and tiles, several turned operands, results within the cache and past it.
#include <doctest/doctest.h>

#include <cstdint>

#include <kiln/autograd/node.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/views.hpp>

using namespace kiln;

TEST_CASE_TEMPLATE("tiles: a + transpose(b), sizes around squares and tiles", T, std::uint8_t, std::int16_t, float,
                   double) {
  for (const std::int64_t m : {31, 63, 64, 65, 257})
    for (const std::int64_t n : {8, 16, 33, 511, 512, 530}) {
      CAPTURE(m);
      CAPTURE(n);
      Tensor<T> a = empty<T>({m, n}), b = empty<T>({n, m});
      for (std::int64_t i = 0; i < m * n; ++i)
        a.data()[i] = static_cast<T>(i % 50), b.data()[i] = static_cast<T>(i % 61);
      const Tensor<T> y = a + b.transpose(0, 1);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          wrong += y.data()[i * n + j] != static_cast<T>((i * n + j) % 50 + (j * m + i) % 61);
      CHECK(wrong == 0);
    }
}

TEST_CASE("tiles: outer axes, two turned operands and a row, more than the cache holds") {
  const std::int64_t p = 3, m = 1050, n = 1111;  // 14 MB each
  Tensor<float> a = empty<float>({p, n, m}), b = empty<float>({n, m}), row = empty<float>({n});
  for (std::int64_t i = 0; i < a.numel(); ++i) a.data()[i] = static_cast<float>(i % 997);
  for (std::int64_t i = 0; i < b.numel(); ++i) b.data()[i] = static_cast<float>(i % 641);
  for (std::int64_t i = 0; i < n; ++i) row.data()[i] = static_cast<float>(i);
  const Tensor<float> y = a.transpose(1, 2) + row - b.transpose(0, 1) * 2.0f;
  std::int64_t wrong = 0;
  for (std::int64_t k = 0; k < p; ++k)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        wrong += y.data()[(k * m + i) * n + j] !=
                 static_cast<float>(((k * n + j) * m + i) % 997 + j - 2 * ((j * m + i) % 641));
  CHECK(wrong == 0);
}
