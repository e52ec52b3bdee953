// SPDX-License-Identifier: BSL-1.0
// What is kept and what goes, by hand.
#include <kiln/core/recently_used.hpp>

#include <doctest/doctest.h>

using kiln::detail::recently_used;

TEST_CASE("recently_used: what was not asked for the longest goes") {
  recently_used<int, double, 3> few;
  auto has = [&](int key) { return static_cast<bool>(few.find(key)); };
  CHECK_FALSE(has(1));
  const auto first = std::make_shared<const double>(0.5);
  few.keep(1, first);
  for (int key = 2; key <= 3; ++key) few.keep(key, std::make_shared<const double>(key));
  CHECK(few.find(1) == first);  // now 2 is the oldest
  few.keep(4, std::make_shared<const double>(4));
  CHECK(few.size() == 3);
  CHECK_FALSE(has(2));
  CHECK(*few.find(3) == 3);
  few.keep(5, nullptr), few.keep(6, nullptr);
  CHECK(first.use_count() == 1);  // nothing holds what went
  CHECK(*few.find(3) == 3);
}
