// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/handles.hpp>

#include "k/support.hpp"

#include <set>

namespace {
struct counted : k::held {
  explicit counted(int* alive_count) : alive(alive_count) { ++*alive; }
  ~counted() override { --*alive; }
  k::held_class kind() const override { return k::held_class::loss; }
  std::unique_ptr<k::held> share() const override { return std::make_unique<counted>(alive); }
  const void* identity() const override { return alive; }
  std::int64_t uses() const override { return *alive; }
  std::string device() const override { return ""; }
  k::object size() const override { return k::kj(0); }
  std::int64_t elements() const override { return 0; }
  std::int64_t bytes() const override { return 0; }
  std::int64_t tensor_count() const override { return 0; }
  int* alive;
};
}  // namespace

TEST_CASE("a number names its object until it is erased, and never another one") {
  int alive = 0;
  k::handle_table table;
  std::set<std::int64_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t number = table.insert(std::make_unique<counted>(&alive));
    CHECK(number > 0);
    CHECK(numbers.insert(number).second);
    CHECK(table.find(number) != nullptr);
    for (std::int64_t old : numbers) CHECK((old == number) == (table.find(old) != nullptr));
    if (i > 30) numbers.erase(numbers.begin());
    table.erase(number);
    table.erase(number);
    CHECK(table.find(number) == nullptr);
  }
  CHECK(alive == 0);
  CHECK(table.size() == 0);
}

TEST_CASE("numbers that no table gave name nothing") {
  int alive = 0;
  k::handle_table table;
  const std::int64_t number = table.insert(std::make_unique<counted>(&alive));
  for (std::int64_t other : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, k::null_long, k::infinite_long,
                             number + 1, number + (std::int64_t{1} << 24), number ^ (std::int64_t{1} << 60)})
    CHECK(table.find(other) == nullptr);
  table.erase(number + 1);
  CHECK(table.size() == 1);
  table.clear();
  CHECK(alive == 0);
}

TEST_CASE("an object may be replaced under its number") {
  int first = 0, second = 0;
  k::handle_table table;
  const std::int64_t number = table.insert(std::make_unique<counted>(&first));
  table.replace(number, std::make_unique<counted>(&second));
  CHECK(first == 0);
  CHECK(table.find(number)->identity() == &second);
  table.clear();
}

TEST_CASE("only a general list of one long has the shape of a handle") {
  const k_test::no_leak watch;
  using namespace k_test;
  CHECK(k::handle_number(list(number(5)).get()) == 5);
  CHECK_FALSE(k::handle_number(longs({5}).get()).has_value());
  CHECK_FALSE(k::handle_number(number(5).get()).has_value());
  CHECK_FALSE(k::handle_number(list(number(5), number(6)).get()).has_value());
  CHECK_FALSE(k::handle_number(list(number(5.0)).get()).has_value());
  CHECK(k::find_held(floats({1}).get()) == nullptr);
  CHECK_THROWS_AS(k::find_held(list(number(5)).get()), k::stale_handle);
}
