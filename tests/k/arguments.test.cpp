// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/arguments.hpp>

#include "k/support.hpp"

using namespace k_test;

namespace {
owned handle() {
  return owned(k::tensor_handle(k::to_tensor(floats({1, 2}).get())));
}
std::string refusal(std::string_view name, const owned& x, std::size_t least, std::size_t most) {
  try {
    k::arguments(name, x.get(), least, most);
  } catch (const kiln::error& reason) {
    return reason.what();
  }
  return "";
}
void free(const owned& x) {
  k::handles().erase(*k::handle_number(x.get()));
}
}  // namespace

TEST_CASE("a general list is the argument list where two arguments are needed") {
  const no_leak watch;
  const k::arguments two("mul", list(floats({1, 2}), floats({3, 4})).get(), 2, 3);
  CHECK(two.size() == 2);
  CHECK(near(owned::share(two[1]), {3, 4}));
  CHECK(refusal("mul", list(floats({1})), 2, 3) == "expects 2 to 3 arguments, given 1 (general list)");
  CHECK(refusal("mul", floats({1}), 2, 2) == "expects 2 arguments, given 1 (double list)");
  CHECK(refusal("mul", null(), 2, 2) == "expects 2 arguments, given 1 (null/unary primitive)");
}

TEST_CASE("a simple list is the argument list where its length fits") {
  const no_leak watch;
  const k::arguments two("mul", longs({2, 3}).get(), 2, 3);
  REQUIRE(two.size() == 2);
  CHECK(two[1]->long_integer == 3);
  CHECK(refusal("mul", longs({1, 2, 3, 4}), 2, 3) == "expects 2 to 3 arguments, given 1 (long list)");
}

TEST_CASE("where one argument is enough, a list is one unless what follows the first fits") {
  const no_leak watch;
  using k::arguments;
  const unsigned dims_or_out = k::longs_trailing | k::output_trailing;
  CHECK(arguments("mean", floats({1, 2, 3}).get(), 1, 3, dims_or_out).size() == 1);
  CHECK(arguments("mean", list(floats({1, 2}), floats({3, 4})).get(), 1, 3, dims_or_out).size() == 1);
  CHECK(arguments("mean", list(floats({1, 2}), number(0)).get(), 1, 3, dims_or_out).size() == 2);
  CHECK(arguments("mean", list(floats({1, 2}), longs({0, 1}), empty_list()).get(), 1, 3, dims_or_out).size() == 3);
  CHECK(arguments("Exp", list(longs({1, 2}), longs({0, 1})).get(), 1, 2, k::output_trailing).size() == 1);
  const owned t = handle();
  CHECK(arguments("mean", t.get(), 1, 3).size() == 1);
  CHECK(arguments("mean", list(copy(t)).get(), 1, 3).size() == 1);
  CHECK(k::handle_number(arguments("mean", list(copy(t)).get(), 1, 3)[0]));
  free(t);
}

TEST_CASE("optional arguments are taken from the right, by type, and never the first ones") {
  const no_leak watch;
  k::arguments given("mean", list(floats({1}), longs({0, 1}), flag(true), symbol("double")).get(), 1, 5);
  CHECK_FALSE(given.take_flag().has_value());
  CHECK(given.take_dtype() == kiln::dtype::float64);
  CHECK(given.take_flag() == true);
  CHECK(given.take_longs() == std::vector<std::int64_t>{0, 1});
  CHECK_FALSE(given.take_longs().has_value());
  CHECK(given.size() == 1);
  k::arguments first("f", number(1).get(), 1, 2);
  CHECK_FALSE(first.take_long().has_value());
  k::arguments ints("f", list(floats({1}), owned(k::ki(3))).get(), 1, 2);
  CHECK_FALSE(ints.take_long().has_value());  // dimensions are longs
  CHECK_THROWS_WITH(ints.none_left(1), "unrecognized argument 2: int scalar");
}

TEST_CASE("an output is a handle, or an empty list or null for the first operand itself") {
  const no_leak watch;
  const owned t = handle(), out = handle();
  k::arguments given("mul", list(copy(t), floats({1, 2}), copy(out)).get(), 2, 3);
  CHECK(given.take_output().target == k::find_held_as<k::held_tensor>(out.get()));
  k::arguments in_place("mul", list(copy(t), floats({1, 2}), null()).get(), 2, 3);
  CHECK(in_place.take_output().target == k::find_held_as<k::held_tensor>(t.get()));
  k::arguments array("mul", list(floats({1}), floats({1, 2}), empty_list()).get(), 2, 3);
  CHECK_THROWS_WITH(array.take_output(), "in place needs a tensor as first operand");
  k::arguments operand("mul", list(copy(t), copy(out)).get(), 2, 3);
  CHECK(operand.take_output().target == nullptr);
  free(t);
  free(out);
}

TEST_CASE("a handle among the operands decides what a result is") {
  const no_leak watch;
  const k::tensor value = k::to_tensor(floats({1, 2}).get());
  const owned made(k::respond(value, true));
  CHECK(k::find_held_as<k::held_tensor>(made.get()));
  CHECK(near(owned(k::respond(value, false)), {1, 2}));
  const owned out = handle();
  CHECK(k::is_null(
      owned(k::respond(k::to_tensor(floats({5, 6}).get()), true, k::output{k::find_held_as<k::held_tensor>(out.get())}))
          .get()));
  CHECK(near(owned(k::to_value(k::find_held_as<k::held_tensor>(out.get())->value)), {5, 6}));
  free(out);
  free(made);
}

TEST_CASE("named options have four forms") {
  const no_leak watch;
  const auto check = [](const owned& x) {
    const auto found = k::read_options(x.get());
    REQUIRE(found.has_value());
    REQUIRE(found->size() == 2);
    CHECK((*found)[0].name == "lr");
    CHECK((*found)[1].name == "decay");
    CHECK((*found)[1].value.get()->floating == 0.5);
  };
  check(owned(k::make_dictionary(std::vector<std::string>{"lr", "decay"}, floats({0.1, 0.5}).release())));
  check(list(symbol("lr"), number(0.1), symbol("decay"), number(0.5)));
  check(list(list(symbol("lr"), number(0.1)), list(symbol("decay"), number(0.5))));
  const auto names = k::read_options(symbols({"reduce", "sum"}).get());
  REQUIRE(names.has_value());
  CHECK(std::string((*names)[0].value.get()->symbol) == "sum");
  CHECK_FALSE(k::read_options(symbols({"a", "b", "c"}).get()).has_value());
  CHECK_FALSE(k::read_options(floats({1, 2}).get()).has_value());
  CHECK_FALSE(k::read_options(list(symbol("a"), number(1), number(2), number(3)).get()).has_value());
}

TEST_CASE("operands of other classes and undefined tensors are refused by position") {
  const no_leak watch;
  const owned undefined(k::tensor_handle(k::tensor{}));
  const k::arguments given("mul", list(floats({1}), copy(undefined)).get(), 2, 2);
  CHECK_THROWS_WITH(given.operand_at(1), "argument 2 is an undefined tensor");
  CHECK(given.operand_at(0).handle == false);
  CHECK_THROWS_WITH(given.long_at(0), "argument 1 is a double list, expected a long");
  free(undefined);
}
