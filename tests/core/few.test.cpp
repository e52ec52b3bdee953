// SPDX-License-Identifier: BSL-1.0
// A few objects: as many are made and ended as were asked for.
#include <doctest/doctest.h>

#include <kiln/core/few.hpp>

namespace {
struct counted {
  static inline int alive = 0, made = 0;
  int value = 7;
  counted() { ++alive, ++made; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
};
}  // namespace

TEST_CASE("few: makes and ends as many as it was told") {
  for (int n : {0, 1, 5, 8}) {
    CAPTURE(n);
    counted::made = 0;
    {
      kiln::detail::few<counted, 8> some(n);
      CHECK(counted::made == n);
      CHECK(counted::alive == n);
      for (int i = 0; i < n; ++i) CHECK(some[i].value == 7);
    }
    CHECK(counted::alive == 0);
  }
}
