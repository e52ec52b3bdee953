// SPDX-License-Identifier: BSL-1.0
// The layout that the interface of kdb+ 3 documents, byte for byte, and what looks at it.
#include <kiln/k/interface.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <type_traits>

using namespace kiln;

static_assert(std::is_standard_layout_v<k::k0> && std::is_trivial_v<k::k0>);
static_assert(sizeof(k::k0) == 16 && alignof(k::k0) == 8);
static_assert(offsetof(k::k0, allocator_class) == 0 && offsetof(k::k0, allocator_flag) == 1);
static_assert(offsetof(k::k0, type) == 2 && offsetof(k::k0, attributes) == 3 && offsetof(k::k0, references) == 4);
static_assert(offsetof(k::k0, byte) == 8 && offsetof(k::k0, short_integer) == 8 && offsetof(k::k0, integer) == 8);
static_assert(offsetof(k::k0, long_integer) == 8 && offsetof(k::k0, real) == 8 && offsetof(k::k0, floating) == 8);
static_assert(offsetof(k::k0, symbol) == 8 && offsetof(k::k0, table) == 8 && offsetof(k::k0, count) == 8);
static_assert(sizeof(k::guid) == 16 && std::is_trivial_v<k::guid>);
static_assert(sizeof(k::types) == 1);
static_assert(k::boolean_type == 1 && k::guid_type == 2 && k::byte_type == 4 && k::short_type == 5 && k::int_type == 6);
static_assert(k::long_type == 7 && k::real_type == 8 && k::float_type == 9 && k::char_type == 10);
static_assert(k::symbol_type == 11 && k::timestamp_type == 12 && k::date_type == 14 && k::timespan_type == 16);
static_assert(k::time_type == 19 && k::table_type == 98 && k::dictionary_type == 99 && k::foreign_type == 112);
static_assert(k::null_long == INT64_MIN && k::infinite_int == INT32_MAX && k::infinite_short == INT16_MAX);
static_assert(std::is_same_v<decltype(&k::ktn), k::object (*)(int, std::int64_t)>);

namespace {

/// An object of a type and 16 bytes behind it.
struct place {
  k::k0 head;
  double behind[2];
};

TEST_CASE("interface: items stand 16 bytes behind the start") {
  alignas(16) unsigned char bytes[40] = {0, 0, 9, 0, 0, 0, 0, 0, 3};
  const double values[3] = {1.5, -2, 4};
  std::memcpy(bytes + 16, values, sizeof values);
  auto* x = reinterpret_cast<k::object>(bytes);
  CHECK(x->type == k::float_type);
  CHECK(x->references == 0);
  CHECK(x->count == 3);
  CHECK(k::items<double>(x)[0] == 1.5);
  CHECK(k::items<double>(x)[2] == 4);
}

TEST_CASE("interface: kinds of objects by type") {
  k::k0 x{};
  x.type = k::unary_type;
  CHECK(k::is_null(&x));
  x.byte = 1;
  CHECK_FALSE(k::is_null(&x));
  CHECK_FALSE(k::is_list(&x));
  x.type = -k::long_type;
  CHECK(k::is_atom(&x));
  CHECK_FALSE(k::is_list(&x));
  CHECK_FALSE(k::is_null(&x));
  for (int type : {0, 1, 11, 19, 76}) {
    x.type = static_cast<signed char>(type);
    CHECK(k::is_list(&x));
    CHECK_FALSE(k::is_atom(&x));
  }
  for (int type : {98, 99, 100, 112}) {
    x.type = static_cast<signed char>(type);
    CHECK_FALSE(k::is_list(&x));
  }
}

TEST_CASE("interface: a dictionary is its keys and its values") {
  place pair{};
  k::k0 keys{}, values{};
  pair.head.type = k::dictionary_type;
  k::items<k::object>(&pair.head)[0] = &keys;
  k::items<k::object>(&pair.head)[1] = &values;
  CHECK(k::keys_of(&pair.head) == &keys);
  CHECK(k::values_of(&pair.head) == &values);
  CHECK(std::isnan(k::null_float));
}

}  // namespace
