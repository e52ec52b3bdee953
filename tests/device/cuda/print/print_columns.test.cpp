// SPDX-License-Identifier: BSL-1.0
// Which reductions go down columns, and what a thread takes there. What they compute is tested through
// schedule.test.cpp.
#include <kiln/device/cuda/print/print_columns.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

using namespace kiln;

namespace {
alignas(64) float x[8192], y[4096];

// A sum over the first of two axes, ordered: the row is the last axis.
cuda::task down(const sheet& s, const dims& strides) {
  cuda::task job = cuda::task_for(view_of(s.p), {64, 100});
  job.reduced_axes = 0b10;
  job.reduction_rooted = true;
  job.leaves[0] = {x, strides, dtype::float32};
  job.results[0].data = y;
  job.results[0].strides = {1, 0};
  return job;
}
}  // namespace

TEST_CASE("print_columns: rows across memory suit, rows along it and reductions of reductions do not") {
  sheet s, two;
  s.result(row_sum(s.leaf(0)));
  CHECK(cuda::columns_suit(down(s, {1, 64})));
  CHECK_FALSE(cuda::columns_suit(down(s, {100, 1})));
  CHECK_FALSE(cuda::columns_suit(down(s, {2, 128})));
  const symbol z = two.leaf(0), d = z - row_sum(z);
  two.result(row_sum(d * d));
  CHECK_FALSE(cuda::columns_suit(down(two, {1, 64})));
}

TEST_CASE("print_columns: a thread takes neighbours along memory; parts that are not aligned are stored one by one") {
  sheet s;
  s.result(row_sum(s.leaf(0)));
  cuda::task job = down(s, {1, 64});
  CHECK(cuda::plan_columns(job).key() == "columns rank 2 row 1 step 4 int32 to rows x0 vectors(0) y0 float32 vectors");
  CHECK(job.domain == dims{100, 64});
  job = down(s, {1, 64});
  job.part = 10;
  job.part_stride = 63;
  CHECK(cuda::plan_columns(job).key() == "columns rank 2 row 1 step 4 int32 to rows cut x0 vectors(0) y0 float32 each");
}
