// SPDX-License-Identifier: BSL-1.0
// Values on one line and on a console; sessions/plain/console.q has the same through the interpreter.
#include "q_show.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace k_host;

namespace {

TEST_CASE("show: numbers have 7 digits and the suffix of their type") {
  CHECK(one_line(float_atom(2.0 / 3)) == "0.6666667");
  CHECK(one_line(float_atom(2)) == "2f");
  CHECK(one_line(float_atom(-0.0)) == "0f");
  CHECK(one_line(float_atom(1e100)) == "1e+100");
  CHECK(one_line(value(k::ke(-0.000203889))) == "-0.000203889e");
  CHECK(one_line(value(k::kh(k::null_short))) == "0Nh");
  CHECK(one_line(value(k::ki(k::infinite_int))) == "0Wi");
  CHECK(one_line(boolean_atom(true)) == "1b");
  CHECK(one_line(value(k::kd(0))) == "2000.01.01");
  CHECK(one_line(value(k::ktj(-k::timespan_type, 90061000000001))) == "1D01:01:01.000000001");
}

TEST_CASE("show: handles, as a library makes them") {
  const value handle(k::knk(1, k::kj(5)));
  CHECK(one_line(handle) == ",5");
  CHECK(displayed(handle) == ",5\n");
  CHECK(one_line(mixed_of({handle, handle})) == "(,5;,5)");
  CHECK(one_line(mixed_of({long_atom(5), long_atom(6)})) == "(5;6)");
  CHECK(one_line(longs_of({5})) == ",5");
}

TEST_CASE("show: a table's column of equally long lists has no commas") {
  const value ptr = mixed_of({mixed_of({long_atom(17)}), mixed_of({long_atom(5)})});
  const value size = mixed_of({longs_of({3}), longs_of({2, 3})}), alone = mixed_of({longs_of({3}), longs_of({4})});
  const value table = table_of(symbols_of({"ptr", "size", "alone"}), {ptr, size, alone});
  CHECK(displayed(table) == "ptr size alone\n--------------\n17  ,3   3    \n5   2 3  4    \n");
}

TEST_CASE("show: a console is 79 columns wide and 23 lines high") {
  std::vector<std::string> names(30, "abcdef");
  const std::string wide = displayed(symbols_of(names));
  CHECK(wide.size() == 80);
  CHECK(wide.substr(77) == "..\n");
  values rows;
  for (int i = 0; i < 40; ++i) rows.push_back(mixed_of({symbol_atom("a"), long_atom(i)}));
  const std::string high = displayed(mixed_of(rows));
  CHECK(std::count(high.begin(), high.end(), '\n') == 23);
  CHECK(high.substr(high.size() - 3) == "..\n");
}

TEST_CASE("show: null shows nothing, but stands in lists") {
  CHECK(displayed(general_null()).empty());
  CHECK(displayed(mixed_of({general_null(), general_null()})) == "::\n::\n");
}

TEST_CASE("show: types by name and letter") {
  CHECK(type_named("long") == k::long_type);
  CHECK(type_named("e") == k::real_type);
  CHECK(type_named("nosuch") == 0);
  CHECK(type_name(k::symbol_type) == "symbol");
  CHECK(type_letter(k::char_type) == 'c');
}

}  // namespace
