// SPDX-License-Identifier: BSL-1.0
// The plan of a reduction over everything. What it computes is tested through schedule.test.cpp.
#include <kiln/device/cuda/print/print_reduce.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

using namespace kiln;

TEST_CASE("print_reduce: axes are walked as the first leaf lies in memory, and join") {
  sheet s;
  s.result(row_sum(s.leaf(0)));
  alignas(64) static float x[64 * 32];
  cuda::task job = cuda::task_for(view_of(s.p), {64, 32});
  job.leaves[0] = {x, {1, 64}, dtype::float32};
  job.reduced_axes = 0b11;
  const cuda::plan p = cuda::plan_reduce(job);
  CHECK(job.domain == dims{2048});
  CHECK(p.key() == "reduce_all rank 1 step 4 int32 x0 vectors y0 float32 unused");
}

TEST_CASE("print_reduce: every block leaves one value") {
  sheet s;
  s.result(row_max(s.leaf(0)));
  alignas(64) static float x[640], y[4];
  cuda::task job = cuda::task_for(view_of(s.p), {640});
  job.leaves[0] = {x, {1}, dtype::float32};
  job.results[0].data = y;
  const cuda::plan p = cuda::plan_reduce(job);
  const std::string text = cuda::print_reduce(job, p).text;
  CHECK(text.find("// max(x0)\n") == 0);
  CHECK(text.find("y0[blockIdx.x] = v1;") != std::string::npos);
}
