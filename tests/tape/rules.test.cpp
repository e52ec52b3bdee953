// SPDX-License-Identifier: BSL-1.0
// Rules found by op code.
#include <kiln/tape/rules.hpp>

#include <doctest/doctest.h>

#include <array>
#include <set>

using namespace kiln;

TEST_CASE("rule table: codes that fall into one bucket are told apart, unknown ones are not found") {
  std::array<op_rules, 3> rules{};
  const char* const names[] = {"a", "b", "c"};
  for (std::size_t i = 0; i < 3; ++i) {
    rules[i].name = names[i];
    rules[i].code = opcode_of(names[i]);
  }
  rules[2].reduces = true;
  // Four buckets, filled as if all three belonged into the one of "a".
  const std::size_t first = static_cast<std::size_t>(opcode_of("a")) % 4;
  std::array<std::int16_t, 4> places{-1, -1, -1, -1};
  auto place = [&](std::int16_t i) {
    std::size_t at = static_cast<std::size_t>(rules[static_cast<std::size_t>(i)].code) % 4;
    while (places[at] >= 0) at = (at + 1) % 4;
    places[at] = i;
  };
  for (std::int16_t i = 0; i < 3; ++i) place(i);
  CHECK(places[first] >= 0);
  rule_table table;
  table.rules = rules.data();
  table.places = places.data();
  table.buckets = 4;
  for (const op_rules& r : rules) {
    REQUIRE(static_cast<bool>(table.find(r.code)));
    CHECK(table.find(r.code)->name == r.name);
  }
  CHECK(table.find(opcode_of("c"))->reduces);
  CHECK_FALSE(table.find(opcode_of("d")));
  CHECK_FALSE(table.find(opcode::leaf));
}

TEST_CASE("op set: is a set of places") {
  const std::set<int> a{0, 3, 63, 64, 130, 255}, b{3, 64, 200};
  const auto of = [](const std::set<int>& places) {
    op_set s;
    for (const int place : places) s = s | op_set::of(place);
    return s;
  };
  CHECK(of(a).size() == 6);
  CHECK(of(a).first() == 0);
  CHECK(of({200, 131}).first() == 131);
  CHECK((of(a) & of(b)) == of({3, 64}));
  CHECK((of(a) | of(b)) == of({0, 3, 63, 64, 130, 200, 255}));
  CHECK((of(a) - of(b)) == of({0, 63, 130, 255}));
  CHECK(op_set::of(-1) == op_set{});
}
