// SPDX-License-Identifier: BSL-1.0
// The functions of the C interface against what kdb+'s documentation says of them: values, owners, errors.
#include "runtime.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include <sys/eventfd.h>
#include <unistd.h>

using namespace k_host;

namespace {

/// Nothing that a test has made may be left.
struct nothing_left {
  std::int64_t before = live_objects();
  ~nothing_left() {
    CHECK(live_objects() == before);
    CHECK(pending_error() == nullptr);
  }
};

std::string taken_error() {
  const std::string text = pending_error() ? pending_error() : "none";
  clear_error();
  return text;
}

object plus(object a, object b) {
  return k::kj(a->long_integer + b->long_integer);
}
object refuses(object) {
  return k::krr("refused");
}
object silent(object) {
  return nullptr;
}

TEST_CASE("runtime: atoms have their type, value and one owner") {
  nothing_left check;
  struct {
    object x;
    int type;
  } atoms[] = {{k::kb(1), -1},
               {k::kg(255), -4},
               {k::kh(-3), -5},
               {k::ki(7), -6},
               {k::kj(8), -7},
               {k::ke(1.5), -8},
               {k::kf(2.5), -9},
               {k::kc('x'), -10},
               {k::ks("s"), -11},
               {k::ktj(-k::timestamp_type, 5), -12},
               {k::kd(1), -14},
               {k::kz(1.5), -15},
               {k::ktj(-k::timespan_type, 5), -16},
               {k::kt(1), -19}};
  for (auto& [x, type] : atoms) {
    CHECK(x->type == type);
    CHECK(owners(x) == 1);
  }
  CHECK(atoms[0].x->byte == 1);
  CHECK(atoms[1].x->byte == 255);
  CHECK(atoms[2].x->short_integer == -3);
  CHECK(atoms[4].x->long_integer == 8);
  CHECK(atoms[5].x->real == 1.5f);
  CHECK(atoms[6].x->floating == 2.5);
  CHECK(std::string(atoms[8].x->symbol) == "s");
  for (auto& [x, type] : atoms) k::r0(x);
  object guid = k::ku({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
  CHECK(guid->type == -k::guid_type);
  CHECK(k::items<unsigned char>(guid)[15] == 16);
  k::r0(guid);
}

TEST_CASE("runtime: owners are counted, and items go with the last of a list") {
  nothing_left check;
  object item = k::kj(5);
  object list = k::knk(2, k::r1(item), k::kj(6));
  CHECK(list->type == 0);
  CHECK(list->count == 2);
  CHECK(owners(item) == 2);
  CHECK(k::r1(list) == list);
  k::r0(list);
  CHECK(owners(item) == 2);
  k::r0(list);
  CHECK(owners(item) == 1);
  k::r0(item);
}

TEST_CASE("runtime: live objects are told by type") {
  nothing_left check;
  object handle = k::knk(1, k::kj(5));
  const std::string text = live_summary();
  CHECK(text.find("-7h x 1") != std::string::npos);
  CHECK(text.find("0h x 1") != std::string::npos);
  const auto bytes = live_bytes();
  k::r0(handle);
  CHECK(live_bytes() == bytes - 16 - 24);
}

TEST_CASE("runtime: equal symbols are one address") {
  const char text[] = {'a', 'b', 'c'};
  CHECK(k::ss("ab") == k::sn(text, 2));
  CHECK(k::ss("ab") != k::ss("abc"));
  CHECK(std::strlen(k::sn("x\0y", 3)) == 1);
}

TEST_CASE("runtime: joins grow a list that has one owner") {
  nothing_left check;
  object longs = k::ktn(k::long_type, 0), symbols = k::ktn(k::symbol_type, 0), mixed = k::ktn(0, 0);
  for (std::int64_t i = 0; i < 1000; ++i) k::ja(&longs, &i);
  CHECK(longs->count == 1000);
  CHECK(k::items<std::int64_t>(longs)[999] == 999);
  k::js(&symbols, k::ss("one"));
  CHECK(std::string(k::items<const char*>(symbols)[0]) == "one");
  object item = k::kf(1);
  k::jk(&mixed, item);
  CHECK(owners(item) == 1);
  object more = k::r1(mixed);
  object twice = k::ktn(0, 0);
  CHECK(k::jv(&twice, mixed) == twice);
  CHECK(k::jv(&twice, more) == twice);
  CHECK(twice->count == 2);
  CHECK(owners(item) == 3);
  CHECK(k::jv(&twice, longs) == nullptr);
  CHECK(taken_error() == "type");
  for (object x : {longs, symbols, mixed, more, twice}) k::r0(x);
}

TEST_CASE("runtime: strings, and lists that cannot be") {
  nothing_left check;
  object text = k::kp("four"), part = k::kpn("four", 2);
  CHECK(text->type == k::char_type);
  CHECK(text->count == 4);
  CHECK(std::string(k::items<char>(part), 2) == "fo");
  k::r0(text);
  k::r0(part);
  CHECK(k::ktn(k::long_type, -1) == nullptr);
  CHECK(taken_error() == "length");
  CHECK(k::ktn(3, 1) == nullptr);
  CHECK(taken_error() == "type");
}

object columns() {
  object names = k::ktn(k::symbol_type, 0);
  k::js(&names, k::ss("a"));
  k::js(&names, k::ss("b"));
  object one = k::ktn(k::long_type, 2), two = k::ktn(k::float_type, 2);
  for (int i = 0; i < 2; ++i) {
    k::items<std::int64_t>(one)[i] = i;
    k::items<double>(two)[i] = i + 0.5;
  }
  return k::xD(names, k::knk(2, one, two));
}

TEST_CASE("runtime: dictionaries, tables and keyed tables") {
  nothing_left check;
  object dictionary = columns();
  CHECK(dictionary->type == k::dictionary_type);
  object table = k::xT(dictionary);
  REQUIRE(table);
  CHECK(table->type == k::table_type);
  CHECK(table->table == dictionary);
  object keyed = k::knt(1, table);
  REQUIRE(keyed);
  CHECK(owners(table) == 1);
  CHECK(k::keys_of(keyed)->type == k::table_type);
  CHECK(k::values_of(k::keys_of(keyed)->table)->count == 1);
  object plain = k::ktd(keyed);
  REQUIRE(plain);
  CHECK(plain->type == k::table_type);
  CHECK(k::keys_of(plain->table)->count == 2);
  CHECK(k::ktd(plain) == plain);
  k::r0(plain);
  CHECK(k::knt(2, table) == nullptr);
  CHECK(taken_error() == "length");
  k::r0(table);
  CHECK(k::xT(k::xD(k::ktn(k::symbol_type, 0), k::ktn(0, 0))) == nullptr);  // released as well
  CHECK(taken_error() == "rank");
  CHECK(k::xT(k::kj(1)) == nullptr);
  CHECK(taken_error() == "rank");
  CHECK(k::ktd(k::kj(1)) == nullptr);
  CHECK(taken_error() == "type");
}

TEST_CASE("runtime: errors are a null and a pending text, or an object after ee") {
  nothing_left check;
  static const char text[] = "what happened";
  CHECK(k::krr(text) == nullptr);
  CHECK(pending_error() == text);  // only its address is kept
  object failure = k::ee(nullptr);
  REQUIRE(failure);
  CHECK(failure->type == k::error_type);
  CHECK(std::string(failure->symbol) == "what happened");
  CHECK(pending_error() == nullptr);
  k::r0(failure);
  CHECK(k::ee(nullptr) == nullptr);
  object fine = k::kj(1);
  CHECK(k::ee(fine) == fine);
  k::r0(fine);
  errno = ENOENT;
  CHECK(k::orr("open") == nullptr);
  CHECK(taken_error().rfind("open. OS reports: No such file", 0) == 0);
}

TEST_CASE("runtime: functions are made by dl and called by dot, which checks their rank") {
  nothing_left check;
  object sum = k::dl(reinterpret_cast<void*>(&plus), 2), refusing = k::dl(reinterpret_cast<void*>(&refuses), 1);
  object quiet = k::dl(reinterpret_cast<void*>(&silent), 1);
  CHECK(sum->type == k::foreign_type);
  CHECK(foreign_arity(sum) == 2);
  object arguments = k::ktn(k::long_type, 2), one = k::knk(1, k::kj(1));
  k::items<std::int64_t>(arguments)[0] = 3;
  k::items<std::int64_t>(arguments)[1] = 4;
  object result = k::dot(sum, arguments);
  REQUIRE(result);
  CHECK(result->long_integer == 7);
  k::r0(result);
  CHECK(k::dot(sum, one) == nullptr);
  CHECK(taken_error() == "rank");
  CHECK(k::dot(refusing, one) == nullptr);
  CHECK(taken_error() == "refused");
  result = k::dot(quiet, one);
  REQUIRE(result);
  CHECK(k::is_null(result));
  k::r0(result);
  CHECK(k::dot(one, one) == nullptr);  // nobody evaluates here
  CHECK(taken_error() == "type");
  for (int arity : {0, 9}) {
    CHECK(k::dl(reinterpret_cast<void*>(&plus), arity) == nullptr);
    CHECK(taken_error() == "rank");
  }
  for (object x : {sum, refusing, quiet, arguments, one}) k::r0(x);
}

TEST_CASE("runtime: k without an interpreter is an error, and still consumes its arguments") {
  nothing_left check;
  object result = k::k(0, "x", k::kj(1), k::kj(2), static_cast<object>(nullptr));
  REQUIRE(result);
  CHECK(result->type == k::error_type);
  k::r0(result);
}

TEST_CASE("runtime: vi gives an item of any list, vk makes lists simple") {
  nothing_left check;
  object longs = k::ktn(k::long_type, 1);
  k::items<std::int64_t>(longs)[0] = 9;
  object item = k::vi(longs, 0);
  CHECK(item->type == -k::long_type);
  CHECK(item->long_integer == 9);
  CHECK(k::vi(longs, 1) == nullptr);
  CHECK(taken_error() == "index");
  object mixed = k::knk(2, k::kf(1), k::kf(2)), other = k::knk(2, k::kf(1), k::kj(2));
  object simple = k::vk(mixed), same = k::vk(other);
  CHECK(simple->type == k::float_type);
  CHECK(k::items<double>(simple)[1] == 2);
  CHECK(same == other);
  for (object x : {longs, item, mixed, other, simple, same}) k::r0(x);
}

int called = 0;
object on_event(int descriptor) {
  std::uint64_t count = 0;
  CHECK(::read(descriptor, &count, sizeof count) == sizeof count);
  called += static_cast<int>(count);
  return k::kj(1);  // the loop releases it
}

TEST_CASE("runtime: callbacks of descriptors run when those can be read") {
  nothing_left check;
  const int event = ::eventfd(0, 0);
  object done = k::sd1(event, on_event);
  REQUIRE(done);
  CHECK(done->integer == event);
  k::r0(done);
  CHECK(registered_descriptors() == 1);
  CHECK(poll_descriptors(0) == 0);
  const std::uint64_t three = 3;
  REQUIRE(::write(event, &three, sizeof three) == sizeof three);
  CHECK(poll_descriptors(1000) == 1);
  CHECK(called == 3);
  k::sd0x(event, 0);
  CHECK(registered_descriptors() == 0);
  CHECK(::write(event, &three, sizeof three) == sizeof three);  // not closed
  CHECK(poll_descriptors(0) == 0);
  k::r0(k::sd1(event, on_event));
  k::sd0(event);
  CHECK(::write(event, &three, sizeof three) == -1);
}

TEST_CASE("runtime: days since 2000.01.01") {
  CHECK(k::ymd(2000, 1, 1) == 0);
  CHECK(k::ymd(1970, 1, 1) == -10957);
  CHECK(k::ymd(2026, 11, 22) == 9822);
  CHECK(k::dj(0) == 20000101);
  CHECK(k::dj(59) == 20000229);
  CHECK(k::dj(-1) == 19991231);
  for (int day = -40000; day < 40000; day += 37) {
    const int date = k::dj(day);
    CHECK(k::ymd(date / 10000, date / 100 % 100, date % 100) == day);
  }
}

}  // namespace
