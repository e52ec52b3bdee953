// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/objects.hpp>

#include "k/support.hpp"

using namespace k_test;

namespace {
const library q{k::offer_objects};
owned handle(std::vector<double> values) {
  return owned(k::tensor_handle(k::to_tensor(floats(values).get())));
}
owned vector_of(const owned& items) {
  auto list = std::make_shared<k::tensor_list>(k::tensors_of(items.get()));
  return owned(k::make_handle(std::make_unique<k::held_list>(k::held_class::vector, std::move(list))));
}
}  // namespace

TEST_CASE("a handle is a general list of one long, and mapped until it is freed") {
  const no_leak watch;
  const owned t = handle({1, 2, 3});
  CHECK(t.get()->type == 0);
  CHECK(t.get()->count == 1);
  CHECK(k::items<k::object>(t.get())[0]->type == -7);
  CHECK(q("mapped", t).get()->byte == 1);
  CHECK(k::is_null(q("free", t).get()));
  CHECK(q("mapped", t).get()->byte == 0);
  CHECK(q("mapped", owned(k::make_text("string"))).get()->byte == 0);
  CHECK(q.error_of("class", t) == "stale pointer");
  const owned next = handle({4});  // takes the slot
  CHECK(q.error_of("class", t) == "stale pointer");
  CHECK(std::string(q("class", next).get()->symbol) == "tensor");
  q("free", next);
}

TEST_CASE("class says what is no handle") {
  const no_leak watch;
  CHECK(q.error_of("class", number(5)) == "class: need allocated torch object, e.g. tensor, module, given long scalar");
  CHECK(q.error_of("class", floats({1})) ==
        "class: need allocated torch object, e.g. tensor, module, given double list");
}

TEST_CASE("free looks at all before it releases any") {
  const no_leak watch;
  const owned a = handle({1}), b = handle({2}), c = handle({3});
  CHECK(q.error_of("free", list(copy(a), number(7))) == "free: expecting pytorch object but element[1] is long scalar");
  CHECK(q("mapped", a).get()->byte == 1);
  CHECK(q.error_of("free", symbol("a")) ==
        "free: expecting pytorch object or list/dictionary of objects, given symbol scalar");
  q("free", list(copy(a), copy(a)));
  CHECK(q.error_of("free", list(copy(b), copy(a))) == "free: stale pointer, element[1] of given list");
  CHECK(q.error_of("free",
                   owned(k::make_dictionary(std::vector<std::string>{"x", "y"}, list(copy(b), copy(a)).release()))) ==
        "free: stale pointer, element[`y] of given dictionary");
  CHECK(q("mapped", b).get()->byte == 1);
  CHECK(k::is_null(q("free", owned(k::make_dictionary(std::vector<std::string>{"x"}, list(copy(b)).release()))).get()));
  CHECK(q("mapped", b).get()->byte == 0);
  q("free", null());
  CHECK(q("mapped", c).get()->byte == 0);
  CHECK(k::is_null(q("free", empty_list()).get()));
}

TEST_CASE("return gives the value and frees") {
  const no_leak watch;
  const owned t = handle({1, 2});
  CHECK(near(q("return", t), {1, 2}));
  CHECK(q.error_of("return", t) == "stale pointer");
  CHECK(q.error_of("return", number(1)) == "return: expecting tensor, vector or dictionary, given long scalar");
}

TEST_CASE("a second handle holds the same object") {
  const no_leak watch;
  const owned t = handle({1, 2});
  CHECK(q("ref", t).get()->long_integer == 1);
  const owned again = q("addref", t);
  CHECK(q("ref", t).get()->long_integer == 2);
  CHECK(q("ptr", t).get()->long_integer == q("ptr", again).get()->long_integer);
  q("free", t);
  CHECK(near(q("return", again), {1, 2}));
}

TEST_CASE("use gives a handle other content") {
  const no_leak watch;
  const owned a = handle({1, 2, 3}), b = handle({0, 1});
  CHECK(k::is_null(q("use", a, b).get()));
  CHECK(q.error_of("return", b) == "stale pointer");
  CHECK(k::is_null(q("use", a, longs({7})).get()));
  CHECK(q.error_of("use", number(1), a) == "use: 1st arg must be tensor, vector or dictionary");
  const owned v = vector_of(list(floats({1}), floats({2})));
  CHECK(q.error_of("use", a, v) == "use: cannot re-assign tensor to vector");
  CHECK(k::is_null(q("use", a, a).get()));
  const owned c = handle({9});
  CHECK(k::is_null(q("use", v, list(copy(c), floats({3}))).get()));
  CHECK(q("mapped", c).get()->byte == 0);
  CHECK(near(q("return", v), {9, 3}));
  const owned result = q("return", a);
  CHECK(result.get()->type == k::long_type);
}

TEST_CASE("obj is a table with typed columns, also when there is nothing") {
  const no_leak watch;
  const auto column = [](const owned& table, int i) {
    return k::items<k::object>(k::values_of(table.get()->table))[i];
  };
  const owned empty = q("obj", null());
  REQUIRE(empty.get()->type == k::table_type);
  const std::vector<int> types{0, 11, 11, 11, 0, 7, 7};
  for (int i = 0; i < 7; ++i) {
    CHECK(column(empty, i)->type == types[static_cast<std::size_t>(i)]);
    CHECK(column(empty, i)->count == 0);
  }
  const owned t = handle({1, 2, 3});
  const owned table = q("obj", null());
  CHECK(std::string(k::items<const char*>(column(table, 1))[0]) == "tensor");
  CHECK(std::string(k::items<const char*>(column(table, 2))[0]) == "cpu");
  CHECK(std::string(k::items<const char*>(column(table, 3))[0]) == "double");
  CHECK(near(owned::share(k::items<k::object>(column(table, 4))[0]), {3}));
  CHECK(k::items<std::int64_t>(column(table, 5))[0] == 3);
  CHECK(k::items<std::int64_t>(column(table, 6))[0] == 24);
  q("free", t);
}

TEST_CASE("names without an implementation say so") {
  CHECK(q.error_of("svd", number(1)) == "svd: not offered by kiln in this version; help[] lists what is");
}
