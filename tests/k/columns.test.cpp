// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/columns.hpp>

#include <kiln/k/attributes.hpp>
#include <kiln/k/tensors.hpp>

#include "k/support.hpp"

#include <cmath>
#include <cstring>

using namespace k_test;

namespace {
const library q{k::offer_objects, k::offer_attributes, k::offer_tensors};

template <class T>
owned column(int type, const std::vector<T>& values) {
  owned made(k::ktn(type, static_cast<std::int64_t>(values.size())));
  if (!values.empty()) std::memcpy(k::items<char>(made.get()), values.data(), values.size() * sizeof(T));
  return made;
}
template <class... T>
owned dictionary(const std::vector<std::string>& names, T... values) {
  return owned(k::make_dictionary(names, list(std::move(values)...).release()));
}
template <class... T>
owned table(const std::vector<std::string>& names, T... values) {
  return owned(k::xT(dictionary(names, std::move(values)...).release()));
}
owned at(const owned& x, std::int64_t i) {
  REQUIRE(x.get());
  return k::item_of(x.get(), i);
}
std::string dtype_of(const owned& handle) {
  const owned found = q("dtype", handle);
  REQUIRE(found.get());
  return found.get()->symbol;
}
/// Values, sizes and dtype of what columns gives; the handle is freed.
void check(const owned& result, const std::vector<double>& values, const std::vector<double>& sizes,
           const std::string& type) {
  const owned handle = at(result, 0);
  CHECK(near(q("tensor", handle), values));
  CHECK(near(q("size", handle), sizes));
  CHECK(dtype_of(handle) == type);
  q("free", handle);
}
owned nulls(const owned& x, std::string_view policy) {
  return list(copy(x), symbols({"nulls", std::string(policy)}));
}
}  // namespace

TEST_CASE("a table becomes a matrix of rows by columns in the common dtype") {
  const no_leak watch;
  const owned t = table({"a", "b"}, longs({1, 2, 3}), floats({0.5, 1.5, 2.5}));
  const owned made = q("tensor", t);
  CHECK(near(q("tensor", made), {1, 0.5, 2, 1.5, 3, 2.5}));
  CHECK(near(q("size", made), {3, 2}));
  CHECK(dtype_of(made) == "double");
  q("free", made);
  const owned small = q("tensor", list(copy(t), symbol("float")));
  CHECK(dtype_of(small) == "float");
  q("free", small);
  const owned flags = q("tensor", dictionary({"a", "b"}, booleans("10"), column<std::int16_t>(k::short_type, {7, 8})));
  CHECK(near(q("size", flags), {2, 2}));
  CHECK(dtype_of(flags) == "short");
  q("free", flags);
  check(q("columns", list(longs({}), longs({}))), {}, {0, 2}, "long");
  check(q("columns", list(column<char>(k::char_type, {'a', 'b'}), longs({1, 2}))), {'a', 1, 'b', 2}, {2, 2}, "long");
}

TEST_CASE("temporals are what holds them") {
  const no_leak watch;
  for (const int type : {k::month_type, k::date_type, k::minute_type, k::second_type, k::time_type}) {
    const auto times = column<std::int32_t>(type, {5, -1});
    check(q("columns", table({"x", "y"}, copy(times), longs({1, 2}))), {5, 1, -1, 2}, {2, 2}, "long");
    const owned alone = q("tensor", table({"x"}, copy(times)));
    CHECK(dtype_of(alone) == "int");
    q("free", alone);
  }
  for (const int type : {k::timestamp_type, k::timespan_type})
    check(q("columns", table({"x"}, column<std::int64_t>(type, {5, -1}))), {5, -1}, {2, 1}, "long");
  check(q("columns", table({"x"}, column<double>(k::datetime_type, {5.5, -1}))), {5.5, -1}, {2, 1}, "double");
  // A date beside longs: the integer, widened.
  check(q("columns", table({"d", "x"}, column<std::int32_t>(k::date_type, {366, -1}), longs({1, 2}))), {366, 1, -1, 2},
        {2, 2}, "long");
}

TEST_CASE("symbols become codes in order of first appearance, and the key comes back") {
  const no_leak watch;
  const owned t = table({"s", "x", "u"}, symbols({"b", "a", "b"}), longs({4, 5, 6}), symbols({"", "z", ""}));
  const owned made = q("columns", t);
  const owned key = at(made, 1);
  REQUIRE(key.get()->type == k::dictionary_type);
  CHECK(*k::read_symbols(k::keys_of(key.get())) == std::vector<std::string>{"s", "u"});
  CHECK(*k::read_symbols(k::item_of(k::values_of(key.get()), 0).get()) == std::vector<std::string>{"b", "a"});
  CHECK(*k::read_symbols(k::item_of(k::values_of(key.get()), 1).get()) == std::vector<std::string>{"", "z"});
  check(made, {0, 4, 0, 1, 5, 1, 0, 6, 0}, {3, 3}, "long");
  CHECK(q.error_of("tensor", t) == "tensor: column `s has symbols: `columns` gives their codes, and the key");
  // A list of columns: the key goes by place. The policy zero gives the null symbol code 0.
  const owned listed = q("columns", nulls(list(longs({1, 2}), symbols({"a", ""})), "zero"));
  const owned places = at(listed, 1);
  CHECK(near(owned::share(k::keys_of(places.get())), {1}));
  CHECK(*k::read_symbols(k::item_of(k::values_of(places.get()), 0).get()) == std::vector<std::string>{"", "a"});
  check(listed, {1, 1, 2, 0}, {2, 2}, "long");
  CHECK(q.error_of("columns", nulls(t, "error")) == "columns: column `u has a null in row 0");
}

TEST_CASE("nulls are kept, refused or zero") {
  const no_leak watch;
  const owned whole = table({"a", "b"}, longs({1, k::null_long}), column<std::int32_t>(k::int_type, {k::null_int, 2}));
  check(q("columns", whole), {1, -2147483648.0, -9223372036854775808.0, 2}, {2, 2}, "long");
  check(q("columns", nulls(whole, "keep")), {1, -2147483648.0, -9223372036854775808.0, 2}, {2, 2}, "long");
  check(q("columns", nulls(whole, "zero")), {1, 0, 0, 2}, {2, 2}, "long");
  CHECK(q.error_of("columns", nulls(whole, "error")) == "columns: column `a has a null in row 1");
  const owned real = table({"a", "b"}, floats({1, k::null_float}), reals({k::null_real, 2}));
  const owned kept = q("columns", real), handle = at(kept, 0);
  const auto values = doubles(q("tensor", handle));
  CHECK(std::isnan(values[1]));
  CHECK(std::isnan(values[2]));
  q("free", handle);
  check(q("columns", nulls(real, "zero")), {1, 0, 0, 2}, {2, 2}, "double");
  CHECK(q.error_of("columns", nulls(real, "error")) == "columns: column `a has a null in row 1");
  const owned days = table({"d"}, column<std::int32_t>(k::date_type, {3, k::null_int}));
  CHECK(q.error_of("columns", nulls(days, "error")) == "columns: column `d has a null in row 1");
  const owned shorts = table({"h"}, column<std::int16_t>(k::short_type, {3, k::null_short}));
  CHECK(q.error_of("columns", nulls(shorts, "error")) == "columns: column `h has a null in row 1");
  // The caller's own columns are as they were.
  CHECK(k::items<std::int64_t>(k::item_of(k::values_of(whole.get()->table), 0).get())[1] == k::null_long);
}

TEST_CASE("what is no column is refused by its name, and nothing is made") {
  const no_leak watch;
  CHECK(q.error_of("columns", table({"a", "s"}, longs({1}), list(owned(k::make_text("xy"))))) ==
        "columns: column `s is a general list, expected a list of numbers, temporals or symbols");
  CHECK(q.error_of("columns", list(longs({1}), owned(k::ktn(k::guid_type, 0)))) ==
        "columns: column 1 is a guid list, expected a list of numbers, temporals or symbols");
  CHECK(q.error_of("columns", dictionary({"a", "b"}, longs({1, 2}), number(3))) ==
        "columns: column `b is a long scalar, expected a list of numbers, temporals or symbols");
  CHECK(q.error_of("columns", dictionary({"a", "b"}, longs({1, 2}), longs({1}))) ==
        "columns: column `b has 1 rows, column `a has 2");
  const owned keyed(k::xD(table({"a"}, longs({1})).release(), table({"b"}, longs({1})).release()));
  CHECK(q.error_of("columns", keyed) == "columns: a keyed table: take the key off first, by 0!");
  CHECK(q.error_of("tensor", keyed) == "tensor: a keyed table: take the key off first, by 0!");
  CHECK(q.error_of("columns", owned(k::xD(longs({1}).release(), list(longs({1})).release())))
            .starts_with("columns: a dictionary of columns has a list of symbols as keys"));
  CHECK(q.error_of("columns", longs({1, 2})) ==
        "columns: expected a table, a dictionary of columns or a list of columns, given long list");
  CHECK(q.error_of("columns", empty_list()) == "columns: no columns given");
  CHECK(q.error_of("columns", list(number(4))).find("stale pointer") != std::string::npos);
  const owned t = table({"a"}, longs({1}));
  CHECK(q.error_of("columns", nulls(t, "drop")) == "columns: option nulls is `keep, `error or `zero, given `drop");
  CHECK(q.error_of("columns", list(copy(t), symbols({"null", "zero"}))) ==
        "columns: unrecognized option `null, expected nulls");
  CHECK(q.error_of("columns", list(copy(t), copy(t))) == "columns: expected options behind the columns, given table");
}
