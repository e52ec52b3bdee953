// SPDX-License-Identifier: BSL-1.0
// Shapes known to the compiler.
#include <kiln/core/extents.hpp>

#include <doctest/doctest.h>

#include <type_traits>

TEST_CASE("extents: know their rank, and another shape is another type") {
  CHECK(kiln::extents<64, 784>::rank == 2);
  CHECK(kiln::extents<>::rank == 0);
  static_assert(!std::is_same_v<kiln::extents<2, 3>, kiln::extents<3, 2>>);
  static_assert(!std::is_same_v<kiln::extents<>, kiln::dynamic_extents>);
}
