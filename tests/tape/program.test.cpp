// SPDX-License-Identifier: BSL-1.0
// Growing tapes: sharing, growth, limits; finished tapes and their keys.
#include <kiln/tape/program.hpp>

#include <doctest/doctest.h>

#include "sheet.hpp"

using namespace kiln;

TEST_CASE("program: an equal instruction is not written twice") {
  sheet s;
  const symbol a = s.leaf(0), b = s.leaf(1);
  const symbol sum = a + b;
  const int size = s.p.size();
  CHECK((a + b).id == sum.id);
  CHECK(s.leaf(0).id == a.id);
  CHECK(s.p.size() == size);
  CHECK((b + a).id != sum.id);  // another order rounds another way in longer sums, so it is another value
  CHECK(s.leaf(0, dtype::float64).id != a.id);
  CHECK((a * 2).id == (a * 2).id);
  CHECK((a * 2).id != (a * 3).id);
}

TEST_CASE("program: shares through growth, however long the tape") {
  sheet s;
  const symbol a = s.leaf(0);
  symbol x = a;
  for (int i = 0; i < 1000; ++i) x = x + a;
  const int size = s.p.size();
  CHECK(size == 1001);
  symbol y = a;
  for (int i = 0; i < 1000; ++i) y = y + a;
  CHECK(y.id == x.id);
  CHECK(s.p.size() == size);
}

TEST_CASE("program: a copy is a tape of its own") {
  sheet s;
  const symbol a = s.leaf(0);
  s.result(a * a);
  program copy(s.p);
  CHECK(text_of(copy) == text_of(s.p));
  const symbol on_copy{&copy, a.id};
  (void)(on_copy + on_copy);
  CHECK(copy.size() == s.p.size() + 1);
}

TEST_CASE("program: too long a tape and too many results are errors with a way out") {
  sheet s;
  symbol x = s.leaf(0);
  auto endless = [&] {
    for (int i = 0; i < 20000; ++i) x = x + 1.5 * static_cast<double>(i);
  };
  CHECK_THROWS_WITH_AS(endless(), doctest::Contains("16384 instructions: evaluate a part of it into a Tensor first"),
                       value_error);
  for (int i = 0; i < 192; ++i) s.p.add_result(0);
  CHECK_THROWS_WITH_AS(s.p.add_result(0), doctest::Contains("192 outputs"), value_error);
}

TEST_CASE("keep_needed: drops what no result needs, keeps slots and order") {
  sheet s;
  const symbol a = s.leaf(0), b = s.leaf(1), c = s.leaf(7);
  const symbol unused = exp(a) + b;
  (void)unused;
  s.p.add_result(-1);
  s.result(b * c);
  program out;
  keep_needed(s.p, out);
  CHECK(text_of(out) ==
        "%0 = leaf float32 x1\n"
        "%1 = leaf float32 x7\n"
        "%2 = mul float32 %0 %1\n"
        "result none %2\n");
  CHECK(a.id == 0);
}

namespace {
constexpr auto finished_tape = finished([](program& out) {
  const symbol a{&out, out.push({.code = opcode::leaf, .slot = 0})};
  out.add_result((a * a + 1).id);
});
}  // namespace

TEST_CASE("finished: exactly as long as what was written, at compile time") {
  static_assert(finished_tape.size() == 4 && finished_tape.result_count() == 1);
  CHECK(infix(view(finished_tape), op_rules_table) == "x0 * x0 + 1");
}

TEST_CASE("key: equal tapes have equal keys, and any difference another") {
  auto key_of = [](auto write) {
    sheet s;
    s.result(write(s));
    return key(view_of(s.p));
  };
  const tape_key base = key_of([](sheet& s) { return s.leaf(0) + s.leaf(0); });
  CHECK(base == key_of([](sheet& s) { return s.leaf(0) + s.leaf(0); }));
  CHECK_FALSE(base == key_of([](sheet& s) { return s.leaf(0) - s.leaf(0); }));
  CHECK_FALSE(base == key_of([](sheet& s) { return s.leaf(1) + s.leaf(1); }));
  CHECK_FALSE(base == key_of([](sheet& s) { return s.leaf(0, dtype::float64) + s.leaf(0, dtype::float64); }));
  CHECK_FALSE(base ==
              key_of([](sheet& s) { return s.leaf(0, dtype::float32, true) + s.leaf(0, dtype::float32, true); }));
  CHECK_FALSE(key_of([](sheet& s) { return s.leaf(0) + 1; }) == key_of([](sheet& s) { return s.leaf(0) + 2; }));
  sheet two;
  two.result(two.leaf(0) + two.leaf(0));
  two.p.add_result(0);
  CHECK_FALSE(base == key(view_of(two.p)));
}

TEST_CASE("key: the same in every build and with every compiler") {
  // Written down once. If these change, caches of compiled kernels made before are not found any more.
  constexpr tape_key k = key(view(finished_tape));
  CHECK(k.low == 0xec71dd149926da77u);
  CHECK(k.high == 0x9a8807986d028332u);
  CHECK(opcode_of("add") == static_cast<opcode>(0xbb391274u));
}
