// SPDX-License-Identifier: BSL-1.0
// A vector's elements stay through growth and moves, and each ends once.
#include <doctest/doctest.h>

#include <kiln/core/vector_of.hpp>

#include <memory>
#include <utility>
#include <vector>

using kiln::detail::vector_of;

TEST_CASE("vector_of: holds what std::vector holds, however it grows and shrinks") {
  vector_of<int> some;
  std::vector<int> same;
  CHECK(some.empty());
  for (int i = 0; i < 100; ++i) {
    some.push_back(i * i);
    same.push_back(i * i);
    if (i % 3 == 0) some.pop_back(), same.pop_back();
    REQUIRE(some.size() == same.size());
    CHECK(std::vector<int>(some.begin(), some.end()) == same);
  }
  CHECK(some.front() == same.front());
  CHECK(some.back() == same.back());
  CHECK(some[7] == same[7]);
  const std::size_t capacity = some.capacity();
  some.clear();
  CHECK(some.empty());
  CHECK(some.capacity() == capacity);
  some.reserve(1000);
  CHECK(some.capacity() == 1000);
  some.reserve(10);
  CHECK(some.capacity() == 1000);
}

TEST_CASE("vector_of: each element ends once, wherever it has moved") {
  const auto shared = std::make_shared<int>(3);
  {
    vector_of<std::shared_ptr<int>> a;
    for (int i = 0; i < 50; ++i) a.push_back(shared);
    CHECK(shared.use_count() == 51);
    vector_of<std::shared_ptr<int>> b(std::move(a));
    CHECK(b.size() == 50);
    b.pop_back();
    CHECK(shared.use_count() == 50);
    vector_of<std::shared_ptr<int>> c;
    c.push_back(shared);
    c = std::move(b);
    CHECK(c.size() == 49);
    c.clear();
    CHECK(shared.use_count() <= 2);  // what c had, if b has it now
  }
  CHECK(shared.use_count() == 1);
}
