// SPDX-License-Identifier: BSL-1.0
// Numbers of places against counting them; operands in one piece.
#include <kiln/nn/functional/window.hpp>

#include <doctest/doctest.h>

#include <kiln/autograd/node.hpp>
#include <kiln/tensor/creation.hpp>

using namespace kiln;

TEST_CASE("as many places as windows that fit; with ceil one more that reaches over the edge") {
  for (std::int64_t size = 1; size < 9; ++size)
    for (std::int64_t reach = 1; reach < 6; ++reach)
      for (std::int64_t stride = 1; stride < 5; ++stride)
        for (std::int64_t padding = 0; padding <= reach / 2; ++padding) {
          if (reach > size + 2 * padding) continue;
          std::int64_t n = 0, at = -padding;
          for (; at + reach <= size + padding; at += stride) ++n;
          REQUIRE(detail::window_places(size, reach, stride, padding) == n);
          // The last one left elements over, and the next begins before the padding.
          const bool over = at - stride + reach < size + padding && at < size;
          REQUIRE(detail::window_places(size, reach, stride, padding, true) == n + over);
        }
}

TEST_CASE("an operand in one piece is itself, or a copy without history") {
  Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  x.requires_grad();
  CHECK(detail::in_one_piece(x, *x.state()).data() == x.data());
  const Tensor<float> turned = x.t(), piece = detail::in_one_piece(turned, *x.state());
  CHECK_FALSE(piece.needs_grad());
  CHECK(piece.contiguous_layout());
  CHECK(piece(2, 1) == 6);
}
