// SPDX-License-Identifier: BSL-1.0
// Axes are ordered and joined before a kernel is chosen.
#include <kiln/device/common/bits.hpp>
#include <kiln/device/cuda/plan/task.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace kiln;

namespace {
float here[8];

cuda::task sum_of_two(const sheet& s, const dims& domain, const dims& x0, const dims& x1, const dims& y) {
  cuda::task job = cuda::task_for(view_of(s.p), domain);
  job.leaves[0].strides = x0;
  job.leaves[1].strides = x1;
  job.results[0].strides = y;
  job.results[0].data = here;
  return job;
}
sheet two_leaves() {
  sheet s;
  s.result(s.leaf(0) + s.leaf(1));
  return s;
}
}  // namespace

TEST_CASE("task: a task has a leaf for every slot and a result for every value of the tape") {
  sheet s;
  s.result(s.leaf(2, dtype::float64) * 2);
  s.p.add_result(-1);
  const cuda::task job = cuda::task_for(view_of(s.p), {3, 4});
  REQUIRE(job.leaves.size() == 3);
  CHECK_FALSE(job.leaves[0].used);
  CHECK(job.leaves[2].used);
  CHECK(job.leaves[2].type == dtype::float64);
  CHECK(job.results.size() == 2);
}

TEST_CASE("task: what a device is asked is taken as it is; a result that nobody wants lies nowhere") {
  sheet s;
  s.result(s.leaf(2, dtype::float64) * 2);
  s.result(s.leaf(0));
  const std::array<dtype, 2> stores{dtype::float32, dtype::float32};
  const common::program_view program = common::view_of(view_of(s.p), stores.data(), true, op_rules_table);
  CHECK(program.slots == 3);
  CHECK(program.reductions == 0);
  std::array<common::operand_view, 3> in{{{here, {4, 1}, 4}, {}, {here + 1, {0, 1}, 8}}};
  std::array<common::result_view, 2> out{{{here + 2, {4, 1}, dtype::bfloat16, true}, {nullptr, {9, 9}}}};
  const std::uint64_t number = common::to_bits(2.0);
  cuda::task job = cuda::task_for(view_of(s.p), {7});  // what was there before goes
  cuda::take(job, {&program, {3, 4}, 2, in.data(), out.data(), &number});
  CHECK(job.domain == dims{3, 4});
  CHECK(job.reduced_axes == 2);
  CHECK(job.reduction_rooted);
  CHECK(job.numbers == &number);
  REQUIRE(job.leaves.size() == 3);
  CHECK(job.leaves[0].data == here);
  CHECK_FALSE(job.leaves[1].used);
  CHECK(job.leaves[2].strides == dims{0, 1});
  CHECK(job.leaves[2].type == dtype::float64);
  REQUIRE(job.results.size() == 2);
  CHECK(job.results[0].type == dtype::bfloat16);
  CHECK(job.results[0].add);
  CHECK(job.results[1].strides == dims{0, 0});
}

TEST_CASE("task: axes that all operands walk through in one stride become one") {
  const sheet s = two_leaves();
  cuda::task job = sum_of_two(s, {2, 3, 4}, {12, 4, 1}, {0, 0, 0}, {12, 4, 1});
  cuda::collapse(job);
  CHECK(job.domain == dims{24});
  CHECK(job.leaves[0].strides == dims{1});
  CHECK(job.leaves[1].strides == dims{0});
  job = sum_of_two(s, {2, 1, 4}, {4, 4, 1}, {1, 0, 0}, {4, 7, 1});
  cuda::collapse(job);
  CHECK(job.domain == dims{2, 4});
}

TEST_CASE("task: axes of a row and others are never joined") {
  const sheet s = two_leaves();
  cuda::task job = sum_of_two(s, {2, 3, 4}, {12, 4, 1}, {12, 4, 1}, {12, 4, 1});
  job.reduced_axes = 0b110;
  cuda::collapse(job);
  CHECK(job.domain == dims{2, 12});
  CHECK(job.reduced_axes == 0b10);
}

TEST_CASE("task: the result is written from slow to fast, and the axes of a row come last") {
  const sheet s = two_leaves();
  cuda::task job = sum_of_two(s, {5, 3}, {3, 1}, {3, 1}, {1, 5});
  cuda::order_axes(job);
  CHECK(job.domain == dims{3, 5});
  CHECK(job.results[0].strides == dims{5, 1});
  job = sum_of_two(s, {5, 3}, {3, 1}, {3, 1}, {0, 1});
  job.reduced_axes = 0b01;
  cuda::order_axes(job);
  CHECK(job.domain == dims{3, 5});
  CHECK(job.reduced_axes == 0b10);
}
