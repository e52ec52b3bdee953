// SPDX-License-Identifier: BSL-1.0
// Gradients of products: operands of any rank, batches that broadcast, alone and inside expressions, against
// differences.
#include <doctest/doctest.h>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/products.hpp>
#include <support/compare.hpp>
#include <support/draw.hpp>

using namespace kiln;
using test::draw;
using test::gradient_difference;
using test::lengths;

TEST_CASE("node: gradients of products with broadcast batches, 1-D and transposed operands") {
  struct pair {
    lengths a, b;
  };
  const pair shapes[] = {{{3}, {3}},
                         {{3}, {3, 4}},
                         {{4, 3}, {3}},
                         {{4, 3}, {3, 2}},
                         {{2, 4, 3}, {3, 2}},
                         {{4, 3}, {2, 3, 5}},
                         {{2, 1, 4, 3}, {5, 3, 2}},
                         {{5, 2, 3}, {1, 3, 4}},
                         {{2, 4, 3}, {3}},
                         {{3}, {2, 3, 4}},
                         {{0, 3}, {3, 2}},
                         {{2, 0}, {0, 3}},
                         {{2, 2, 3}, {1, 2, 3, 2}}};
  std::uint32_t seed = 0;
  for (const auto& p : shapes)
    for (int round = 0; round < 3; ++round) {
      draw d(++seed);
      CAPTURE(seed);
      CAPTURE(dims(std::span<const std::int64_t>(p.a)));
      CAPTURE(dims(std::span<const std::int64_t>(p.b)));
      const auto a = d.tensor<double>(p.a), b = d.tensor<double>(p.b), c = d.tensor<double>({});
      CHECK(gradient_difference([](auto x, auto y) { return matmul(x, y); }, a, b) == "");
      CHECK(gradient_difference([](auto x, auto y, auto z) { return tanh(0.3 * matmul(x, y) * z) + z; }, a, b, c) ==
            "");
      CHECK(gradient_difference([](auto x, auto y) { return sum(square(matmul(x, y))); }, a, b) == "");
    }
}

TEST_CASE("node: two products of one type in a row program are not taken for one") {
  draw d(7);
  const auto a = d.contiguous<double>({6, 5}), b = d.contiguous<double>({5, 4}), c = d.contiguous<double>({6, 5}),
             e = d.contiguous<double>({5, 4});
  CHECK(gradient_difference([](auto p, auto q, auto r, auto s) { return matmul(p, q) - mean(matmul(r, s), -1, true); },
                            a, b, c, e) == "");
  CHECK(gradient_difference(
            [](auto p, auto q) {
              auto z = matmul(p, q);
              return z - mean(z, -1, true);
            },
            a, b) == "");
}

TEST_CASE("node: a product that stands in an expression several times is multiplied back once, for all of its places") {
  draw d(11);
  const auto a = d.tensor<double>({6, 5}), b = d.tensor<double>({5, 4}), c = d.tensor<double>({4}),
             more = d.tensor<double>({2, 1, 1});
  // On its own, as an operand, where nothing comes back, and beside another of the same type.
  CHECK(gradient_difference(
            [](auto p, auto q, auto r) {
              const auto z = matmul(p, q) + r;
              return where(z < 0, z, where(z < 1, z * z * z / 3, z - 2.0 / 3)) + 0 * floor(z);
            },
            a, b, c) == "");
  CHECK(gradient_difference(
            [](auto p, auto q) {
              const auto z = matmul(p, q);
              return z + z * z + matmul(sin(p), q);
            },
            a, b) == "");
  CHECK(gradient_difference([](auto p, auto q) { return matmul(p, q) + matmul(p, q) + matmul(p, q); }, a, b) == "");
  CHECK(gradient_difference(
            [](auto p, auto q, auto r) {
              const auto z = matmul(p, q);
              return z * r + z * z;
            },
            a, b, more) == "");
}
