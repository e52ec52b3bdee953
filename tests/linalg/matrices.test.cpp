// SPDX-License-Identifier: BSL-1.0
// Stacks of matrices, taken one by one.
#include <doctest/doctest.h>

#include <kiln/linalg/matrices.hpp>
#include <linalg/residual.hpp>

using namespace linear;

TEST_CASE("linalg: matrices of a stack come in order, of views too, and none of a stack without elements") {
  const Doubles x = reshape(arange<double>(0, 12), {2, 2, 3});
  int calls = 0;
  const auto turned = linalg::detail::stack_of(transpose(x, -2, -1), "f");
  linalg::detail::each_matrix(turned, [&](std::int64_t i, const auto& m) {
    ++calls;
    CHECK(m.rows() == 3);
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 2; ++c) CHECK(m(r, c) == static_cast<double>(6 * i + 3 * c + r));
  });
  CHECK(calls == 2);
  linalg::detail::each_matrix(zeros<double>({4, 0, 3}), [&](std::int64_t, const auto&) { ++calls; });
  CHECK(calls == 2);
  CHECK(linalg::detail::which(x, 1) == ", matrix 1 of 2");
  CHECK(linalg::detail::which(Doubles(x.select(0, 0)), 0).empty());
  CHECK(linalg::detail::sizes_like({5, 2, 3}, {7}) == dims{5, 7});
}
