// SPDX-License-Identifier: BSL-1.0
#include <kiln/core/slot_table.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace kiln;

TEST_CASE("slot_table: a number never names another object, and a place rests when its turns are used up") {
  slot_table<int, 2, 2> table;
  const slot_number first = table.insert(1);
  REQUIRE(table.find(first));
  CHECK(*table.find(first) == 1);
  CHECK(table.erase(first) == 1);
  CHECK_FALSE(table.erase(first));
  const slot_number second = table.insert(2);
  CHECK(second.place == first.place);
  CHECK_FALSE(table.find(first));
  table.erase(second);
  table.erase(table.insert(3));  // the last turn of this place
  const slot_number other = table.insert(4);
  CHECK(other.place != first.place);
  CHECK(table.size() == 1);
  CHECK_THROWS_AS(table.insert(5), memory_error);
  CHECK(table.size() == 1);
  CHECK_FALSE(table.find({2, 0}));
}

TEST_CASE("slot_table: for_each sees all that are left, and may erase them") {
  slot_table<std::unique_ptr<int>, 100, 5> table;
  slot_number numbers[50];
  for (int i = 0; i < 50; ++i) numbers[i] = table.insert(std::make_unique<int>(i));
  for (int i = 0; i < 50; i += 2) table.erase(numbers[i]);
  int sum = 0;
  table.for_each([&](slot_number at, const std::unique_ptr<int>& x) {
    sum += *x;
    table.erase(at);
  });
  CHECK(sum == 625);
  CHECK(table.size() == 0);
}
