// SPDX-License-Identifier: BSL-1.0
// Layouts as data: what views.test.cpp cannot see through tensors, that is which reshapes need no copy, resolved sizes,
// and the sentences of the errors.
#include <kiln/tensor/layout.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <random>

using namespace kiln;
using kiln::detail::layout;

namespace {

layout row_major(const dims& sizes) {
  return {sizes, contiguous_strides(sizes), 0};
}

std::int64_t offset_of(const layout& l, std::int64_t index) {
  std::int64_t at = l.offset;
  for (int i = l.sizes.rank() - 1; i >= 0; --i) {
    at += index % l.sizes[i] * l.strides[i];
    index /= l.sizes[i];
  }
  return at;
}
// By trying all strides: is there a layout of these sizes with the same elements in the same order?
bool expressible(const layout& l, const dims& sizes) {
  dims steps;
  std::int64_t inner = 1;
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    // The stride of an axis can only be the distance of its first two elements.
    steps.insert(0, sizes[i] > 1 ? offset_of(l, inner) - l.offset : 1);
    inner *= sizes[i];
  }
  const layout wanted{sizes, steps, l.offset};
  for (std::int64_t k = 0; k < count(sizes); ++k)
    if (offset_of(l, k) != offset_of(wanted, k)) return false;
  return true;
}

}  // namespace

TEST_CASE("reshaped finds strides exactly where there are some") {
  std::mt19937 random(3);
  auto up_to = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int views = 0, copies = 0;
  for (int round = 0; round < 20000; ++round) {
    // A random layout of 24 elements: permuted, sliced with a step, with axes of 1 and repeated ones.
    static const dims shapes[] = {{24}, {2, 12}, {4, 6}, {2, 3, 4}, {1, 4, 1, 6}, {2, 2, 2, 3}, {3, 8}, {6, 1, 4}};
    layout l = row_major(shapes[up_to(8)]);
    for (int i = up_to(3); i > 0; --i) l = detail::transposed(l, up_to(l.sizes.rank()), up_to(l.sizes.rank()));
    if (up_to(3) == 0) l.strides[up_to(l.sizes.rank())] *= up_to(3);
    const dims wanted = shapes[up_to(8)];
    const auto got = detail::reshaped(l, wanted);
    const bool possible = expressible(l, wanted);
    REQUIRE(got.has_value() == possible);
    (possible ? views : copies) += 1;
    if (!got) continue;
    REQUIRE(got->sizes == wanted);
    for (std::int64_t k = 0; k < 24; ++k) REQUIRE(offset_of(*got, k) == offset_of(l, k));
  }
  CHECK(views > 1000);
  CHECK(copies > 1000);
}

TEST_CASE("a reshape of nothing is always a view") {
  CHECK(detail::reshaped({{0, 3}, {1, 7}, 0}, {3, 0, 2}).has_value());
  CHECK(detail::reshaped(row_major({1, 1}), {}).has_value());
  CHECK(detail::reshaped(row_major({}), {1, 1}).has_value());
}

TEST_CASE("one size may be left open") {
  CHECK(detail::resolved_sizes({2, 6}, {-1, 4}, "reshape") == dims{3, 4});
  CHECK(detail::resolved_sizes({2, 6}, {-1}, "reshape") == dims{12});
  CHECK(detail::resolved_sizes({}, {-1}, "reshape") == dims{1});
  CHECK(detail::resolved_sizes({0, 6}, {-1, 3}, "reshape") == dims{0, 3});
  for (const dims& wanted : {dims{-1, -1}, dims{-2, 6}, dims{5, -1}, dims{3, 3}, dims{}, dims{-1, 0}})
    CHECK_THROWS_AS(detail::resolved_sizes({2, 6}, wanted, "reshape"), shape_error);
  CHECK_THROWS_AS(detail::resolved_sizes({0}, {-1, 0}, "reshape"), shape_error);
  CHECK_THROWS_AS(detail::resolved_sizes({2, 6}, {std::int64_t{1} << 40, std::int64_t{1} << 40}, "view"), shape_error);
}

TEST_CASE("a slice clamps its ends as Python does") {
  auto sizes_and_offset = [](std::int64_t begin, std::int64_t end, std::int64_t step) {
    const layout l = detail::sliced(row_major({5, 3}), 0, begin, end, step);
    return dims{l.sizes[0], l.offset};
  };
  constexpr auto most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  CHECK(sizes_and_offset(1, 4, 1) == dims{3, 3});
  CHECK(sizes_and_offset(1, most, 2) == dims{2, 3});
  CHECK(sizes_and_offset(0, most, 2) == dims{3, 0});
  CHECK(sizes_and_offset(-2, most, 1) == dims{2, 9});
  CHECK(sizes_and_offset(-9, -3, 1) == dims{2, 0});
  CHECK(sizes_and_offset(least, most, most) == dims{1, 0});
  CHECK(sizes_and_offset(3, 2, 1) == dims{0, 0});
  CHECK(sizes_and_offset(7, 9, 1) == dims{0, 0});
}

TEST_CASE("flipped axes begin at their last element and go back") {
  const layout l = detail::flipped(row_major({2, 3}), 0b11), one = detail::flipped(row_major({2, 3}), 0b10);
  CHECK((l.strides == dims{-3, -1} && l.offset == 5));
  CHECK((one.strides == dims{3, -1} && one.offset == 2));
  CHECK(detail::flipped(row_major({0, 3}), 0b11).offset == 0);
  CHECK(detail::flipped(row_major({1, 3}), 0b01).strides == dims{3, 1});
}

TEST_CASE("an empty part does not point behind the memory") {
  CHECK(detail::narrowed(row_major({5}), 0, 5, 0).offset == 0);
  CHECK(detail::sliced(row_major({5}), 0, 5, 5, 1).offset == 0);
}

TEST_CASE("errors name the operation, the shape and the way out") {
  const layout l = row_major({2, 3});
  CHECK_THROWS_WITH_AS(
      detail::permuted(l, {0, 0}),
      "permute: the order [0, 0] does not name each axis of shape [2, 3] once: give a permutation of 0 to 1",
      shape_error);
  CHECK_THROWS_AS(detail::permuted(l, {0}), shape_error);
  CHECK_THROWS_AS(detail::permuted(l, {0, 2}), index_error);
  CHECK_THROWS_WITH_AS(detail::expanded(l, {4, 3}),
                       "expand: shape [2, 3] does not expand to [4, 3]: aligned at the right, each size must stay as "
                       "it is (or be -1) unless it "
                       "was 1; new axes come in front",
                       shape_error);
  CHECK_THROWS_AS(detail::expanded(l, {3}), shape_error);
  CHECK_THROWS_AS(detail::expanded(l, {-1, 2, 3}), shape_error);
  CHECK_THROWS_WITH_AS(detail::selected(l, 1, 3), "select: index 3 is outside [-3, 2] of axis 1 of shape [2, 3]",
                       index_error);
  CHECK_THROWS_AS(detail::selected(row_major({}), 0, 0), index_error);
  CHECK_THROWS_WITH_AS(detail::narrowed(l, 0, 1, 2),
                       "narrow: 2 elements from 1 on do not lie within axis 0 of shape [2, 3]: use a smaller length, "
                       "or slice, which leaves out "
                       "what is outside",
                       index_error);
  CHECK_THROWS_AS(detail::narrowed(l, 0, -3, 1), index_error);
  CHECK_THROWS_AS(detail::narrowed(l, 0, 0, -1), index_error);
  CHECK_THROWS_WITH_AS(detail::sliced(l, 0, 0, 1, 0), "slice: a step of 0: it must be 1 or more", value_error);
  CHECK_THROWS_AS(detail::sliced(row_major({}), 0, 0, 1, 1), index_error);
  CHECK_THROWS_AS(detail::transposed(l, 0, 2), index_error);
  CHECK_THROWS_AS(detail::unsqueezed(l, 3), index_error);
  CHECK_THROWS_AS(detail::unsqueezed(row_major(dims::filled(max_rank, 1)), 0), shape_error);
  CHECK_THROWS_AS(detail::flattened_sizes({2, 3}, 1, 0), value_error);
}

TEST_CASE("flattened sizes") {
  CHECK(detail::flattened_sizes({2, 3, 4}, 0, -1) == dims{24});
  CHECK(detail::flattened_sizes({2, 3, 4}, 1, 2) == dims{2, 12});
  CHECK(detail::flattened_sizes({2, 3, 4}, 1, 1) == dims{2, 3, 4});
  CHECK(detail::flattened_sizes({}, 0, -1) == dims{1});
  CHECK(detail::flattened_sizes({2, 0}, 0, -1) == dims{0});
}

TEST_CASE("views of nothing with huge axes: no product overflows") {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  const dims sizes{huge, huge, 0};
  const layout l{sizes, contiguous_strides(sizes), 0};
  CHECK(unsqueezed(l, 0).sizes == dims{1, huge, huge, 0});
  CHECK(sliced(l, 0, 5, huge, 7).offset == 0);
  CHECK(narrowed(l, 1, huge / 2, 3).offset == 0);
  CHECK(selected(l, 0, huge - 1).offset == 0);
  CHECK(detail::flattened_sizes(sizes, 0, 2) == dims{0});
  CHECK(detail::flattened_sizes(sizes, 1, 2) == dims{huge, 0});
  CHECK_THROWS_AS(detail::flattened_sizes(sizes, 0, 1), shape_error);
}
