// SPDX-License-Identifier: BSL-1.0
// Strides of operands that are broadcast over a domain.
#include <doctest/doctest.h>

#include <kiln/device/common/task.hpp>

using namespace kiln;
using common::broadcast_strides;

TEST_CASE("task: broadcast axes have stride 0, the others keep theirs, aligned at the right") {
  CHECK(broadcast_strides({3, 4}, {4, 1}, {3, 4}) == dims{4, 1});
  CHECK(broadcast_strides({4}, {1}, {3, 4}) == dims{0, 1});
  CHECK(broadcast_strides({3, 1}, {1, 1}, {3, 4}) == dims{1, 0});
  CHECK(broadcast_strides({}, {}, {3, 4}) == dims{0, 0});
  CHECK(broadcast_strides({2, 1, 4}, {9, 5, 2}, {7, 2, 3, 4}) == dims{0, 9, 0, 2});
  CHECK(broadcast_strides({1, 4}, {17, 1}, {1, 4}) == dims{0, 1});  // the stride of one element does not matter
  CHECK(broadcast_strides({}, {}, {}) == dims{});
}
