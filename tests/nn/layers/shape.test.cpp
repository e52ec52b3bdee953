// SPDX-License-Identifier: BSL-1.0
// Flatten and Unflatten: sizes, order, refusals.
#include <kiln/nn/layers/shape.hpp>

#include <doctest/doctest.h>

#include <kiln/tensor/creation.hpp>

using namespace kiln;

TEST_CASE("Flatten and Unflatten") {
  const Tensor<std::int64_t> x = arange(24).reshape(2, 3, 4);
  CHECK(nn::Flatten{}(x).sizes() == dims{2, 12});
  CHECK(nn::Flatten{0, 1}(x).sizes() == dims{6, 4});
  const auto parts = nn::Unflatten{-1, {2, -1}}(x);
  CHECK(parts.sizes() == dims{2, 3, 2, 2});
  CHECK(parts(1, 2, 1, 0) == 22);
  CHECK_THROWS_AS((nn::Unflatten{1, {2, 2}}(x)), shape_error);
}
