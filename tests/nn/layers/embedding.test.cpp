// SPDX-License-Identifier: BSL-1.0
// Embedding against PyTorch's values, its padding, and what it refuses.
#include <kiln/nn/layers/embedding.hpp>

#include "nn/layers/check.hpp"

using namespace kiln;

TEST_CASE("Embedding: PyTorch's values and gradients, none for the padding") {
  const Tensor<std::int64_t> numbers{{0, 4, 2}, {1, 4, 0}};
  test::check_layer("embedding", nn::Embedding<double>{5, 3, {.padding_idx = 2}}, {},
                    [&](const auto& m, const auto&) { return m(numbers); });
}

TEST_CASE("Embedding: how it begins, and refusals") {
  const nn::Embedding<float> e{4, 3, {.padding_idx = 1}};
  CHECK(e.weight(1, 2) == 0);
  CHECK(e.weight(0, 2) != 0);
  CHECK(e.weight.needs_grad());
  CHECK(e(Tensor<int>(3)).sizes() == dims{3});
  CHECK_THROWS_AS(e(Tensor<int>{0, 4}), index_error);
  CHECK_THROWS_AS(nn::parameters(nn::Embedding<float>{4, 3, {.padding_idx = 4}}), index_error);
}
