// SPDX-License-Identifier: BSL-1.0
// Lists of sizes and the arithmetic of shapes.
#include <kiln/core/dims.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <sstream>
#include <vector>

using namespace kiln;

namespace {
std::string printed(const dims& d) {
  std::ostringstream out;
  out << d;
  return out.str();
}
}  // namespace

TEST_CASE("dims: hold up to eight numbers, and print as a list") {
  CHECK(dims{}.rank() == 0);
  CHECK(dims{}.empty());
  CHECK(printed({}) == "[]");
  CHECK(printed({2, 3}) == "[2, 3]");
  CHECK(dims{2, 3}.back() == 3);
  CHECK(dims{2, 3} == dims{2, 3});
  CHECK_FALSE(dims{2, 3} == dims{3, 2});
  CHECK_FALSE(dims{2} == dims{2, 1});
  CHECK(dims::filled(3, 7) == dims{7, 7, 7});
  const std::vector<std::int64_t> list{4, 5};
  CHECK(dims(std::span<const std::int64_t>(list)) == dims{4, 5});
}

TEST_CASE("dims: a ninth axis is an error with a way out") {
  dims d = dims::filled(8, 1);
  CHECK_THROWS_WITH_AS(d.push_back(1), "a tensor has at most 8 axes, got 9: reshape to fewer", shape_error);
  CHECK_THROWS_AS(d.insert(0, 1), shape_error);
  volatile int nine = 9;  // g++ 12 would unroll the loop behind the check, and warn of it
  CHECK_THROWS_AS(dims::filled(nine, 1), shape_error);
  const std::vector<std::int64_t> many(9, 1);
  CHECK_THROWS_AS(dims(std::span<const std::int64_t>(many)), shape_error);
  CHECK(d.rank() == 8);
}

TEST_CASE("dims: of integers of any type, and of what holds them") {
  const std::size_t rows = 2;
  const int columns = 3;
  const unsigned char depth = 4;
  CHECK(dims{rows, columns, depth} == dims{2, 3, 4});
  const auto taken = [](const dims& d) { return d; };
  CHECK(taken({rows, columns}) == dims{2, 3});
  CHECK(taken({5}) == dims{5});
  CHECK(taken(std::vector<int>{2, 3}) == dims{2, 3});
  CHECK(taken(std::vector<std::size_t>{2, 3}) == dims{2, 3});
  CHECK(taken(std::array<std::int64_t, 2>{2, 3}) == dims{2, 3});
  CHECK(taken(std::vector<int>{}) == dims{});
  CHECK_THROWS_AS(taken({std::size_t{1}, std::size_t{0} - 1}), shape_error);
  CHECK_THROWS_AS(taken(std::vector<std::size_t>{std::size_t{0} - 1}), shape_error);
  CHECK_THROWS_AS(taken(std::vector<int>(9, 1)), shape_error);
  static_assert(!std::is_constructible_v<dims, double>);
  static_assert(!std::is_constructible_v<dims, bool>);
}

TEST_CASE("dims: insert and erase move what follows") {
  dims d{1, 2, 3};
  d.insert(0, 9);
  CHECK(d == dims{9, 1, 2, 3});
  d.insert(4, 8);
  CHECK(d == dims{9, 1, 2, 3, 8});
  d.insert(2, 7);
  CHECK(d == dims{9, 1, 7, 2, 3, 8});
  d.erase(0);
  d.erase(4);
  CHECK(d == dims{1, 7, 2, 3});
}

TEST_CASE("count: the product; zero if any size is zero; errors for what cannot be") {
  CHECK(count({}) == 1);
  CHECK(count({2, 3, 4}) == 24);
  CHECK(count({2, 0, 4}) == 0);
  CHECK(count({std::int64_t{1} << 59}) == std::int64_t{1} << 59);
  CHECK_THROWS_WITH_AS(count({2, -1}), doctest::Contains("sizes [2, -1] hold a negative number"), shape_error);
  CHECK_THROWS_WITH_AS(count({std::int64_t{1} << 40, std::int64_t{1} << 40}),
                       doctest::Contains("more elements than memory can hold"), shape_error);
  CHECK_THROWS_AS(count({std::numeric_limits<std::int64_t>::max(), 2}), shape_error);
  CHECK_THROWS_AS(count({(std::int64_t{1} << 59) + 1}), shape_error);
  // A zero makes even an impossible product nothing, wherever it stands.
  CHECK(count({std::int64_t{1} << 40, std::int64_t{1} << 40, 0}) == 0);
  CHECK(count({0, std::int64_t{1} << 40, std::int64_t{1} << 40}) == 0);
}

TEST_CASE("contiguous: row-major strides are, gaps and turns are not") {
  CHECK(contiguous_strides({2, 3, 4}) == dims{12, 4, 1});
  CHECK(contiguous_strides({}) == dims{});
  CHECK(contiguous_strides({2, 0, 4}) == dims{4, 4, 1});
  CHECK(is_contiguous({2, 3}, {3, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {1, 2}));
  CHECK_FALSE(is_contiguous({2, 3}, {4, 1}));
  CHECK_FALSE(is_contiguous({3}, {0}));
  CHECK(is_contiguous({1, 3}, {99, 1}));  // an axis of one step is never taken
  CHECK(is_contiguous({2, 0}, {7, 7}));
  CHECK(is_contiguous({}, {}));
}

TEST_CASE("broadcast: aligned at the right, ones stretch") {
  auto both = [](dims a, const dims& b) {
    broadcast_into(a, b);
    return a;
  };
  CHECK(both({2, 3}, {3}) == dims{2, 3});
  CHECK(both({3}, {2, 3}) == dims{2, 3});
  CHECK(both({2, 1}, {1, 3}) == dims{2, 3});
  CHECK(both({}, {4}) == dims{4});
  CHECK(both({4}, {}) == dims{4});
  CHECK(both({5, 1, 7}, {6, 1}) == dims{5, 6, 7});
  CHECK(both({1}, {0}) == dims{0});
  CHECK(both({0, 3}, {1, 3}) == dims{0, 3});
}

TEST_CASE("broadcast: a mismatch names the operation, both shapes, the rule and the way out") {
  dims a{2, 3};
  CHECK_THROWS_WITH_AS(
      broadcast_into(a, {2, 4}, "add"),
      "add: shapes [2, 3] and [2, 4] do not broadcast: aligned at the right, two sizes must be equal or one of them 1 "
      "(use unsqueeze or reshape to line the axes up)",
      shape_error);
  dims b{3};
  CHECK_THROWS_WITH_AS(broadcast_into(b, {3, 2}), doctest::Contains("shapes [3] and [3, 2] do not broadcast"),
                       shape_error);
  dims c{0};
  CHECK_THROWS_AS(broadcast_into(c, {2}), shape_error);
}

TEST_CASE("axes: negative ones count from the end; outside is an error that names the range") {
  CHECK(normalize_axis(0, 3, "sum") == 0);
  CHECK(normalize_axis(-1, 3, "sum") == 2);
  CHECK(normalize_axis(-3, 3, "sum") == 0);
  CHECK(normalize_axis(0, 0, "sum") == 0);
  CHECK(normalize_axis(-1, 0, "sum") == 0);
  CHECK_THROWS_WITH_AS(normalize_axis(3, 3, "sum"), "sum: axis 3 is outside [-3, 2] of a tensor with 3 axes",
                       index_error);
  CHECK_THROWS_AS(normalize_axis(-4, 3, "sum"), index_error);
  CHECK_THROWS_AS(normalize_axis(1, 0, "sum"), index_error);
}

TEST_CASE("dims: usable in constant expressions") {
  static_assert(count({2, 3}) == 6);
  static_assert(contiguous_strides({2, 3}) == dims{3, 1});
}

TEST_CASE("dims: shapes that hold nothing may have huge axes") {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  const dims sizes{huge, 0, huge}, other{0, huge, huge};
  CHECK(count(sizes) == 0);
  for (const dims& d : {sizes, other}) {
    const dims strides = contiguous_strides(d);
    for (std::int64_t s : strides) CHECK(s > 0);
    CHECK(is_contiguous(d, strides));
  }
  static_assert(contiguous_strides({huge, 0, huge})[1] == huge);  // a constant: no overflow
}

TEST_CASE("dims: a list that is assigned takes the place of what was there") {
  dims d{2, 3, 4};
  d = {5, 6};
  CHECK(d.rank() == 2);
  CHECK(d == dims{5, 6});
  d = {d[1], d[0], 7};
  CHECK(d == dims{6, 5, 7});
  CHECK_THROWS_AS((d = {1, 2, 3, 4, 5, 6, 7, 8, 9}), kiln::shape_error);
  CHECK(d == dims{6, 5, 7});
  d = {};
  CHECK(d.empty());
}
