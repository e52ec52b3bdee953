// SPDX-License-Identifier: BSL-1.0
// The plan of a reduction over everything. What it computes is tested through schedule.test.cpp.
#include <kiln/device/cuda/print/print_reduce.hpp>

#include "support/grouping_locale.hpp"
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
  CHECK(p.key() == "reduce_all rank 1 step 4 int32 at once 4 x0 vectors y0 float32 unused");
}

TEST_CASE("print_reduce: four steps are loaded before one is looked at; the last block writes what follows") {
  sheet s;
  s.result(row_max(s.leaf(0)) * 2 + s.leaf(1));
  alignas(64) static float x[640], y[4], z;
  cuda::task job = cuda::task_for(view_of(s.p), {640});
  job.leaves[0] = {x, {1}, dtype::float32};
  job.leaves[1] = {&z, {0}, dtype::float32};
  job.results[0].data = y;
  const cuda::plan p = cuda::plan_reduce(job);
  const std::string text = cuda::print_reduce(job, p).text;
  const auto stands_at = [&](std::string_view words, std::size_t from = 0) {
    const std::size_t at = text.find(words, from);
    CHECK_MESSAGE(at != std::string::npos, words, " is not in\n", text);
    return at;
  };
  const std::size_t loads = stands_at("x0_all[u] = load_vector<4>(x0 + i, 4);");
  CHECK(stands_at("for (; at + 3 * threads < size0 / 4; at += 4 * threads)") < loads);
  CHECK(loads < stands_at("const auto& x0_at = x0_all[u];"));
  CHECK(stands_at("leave_share(shares, v") < stands_at("if (!ends_last(finished)) return;"));
  CHECK(stands_at("*y0 = ") > stands_at("collect_shares(shares, "));
}

TEST_CASE("print_reduce: a locale that groups digits changes nothing") {
  sheet s;
  symbol folds = row_sum(s.leaf(0) * s.leaf(0));
  for (int i = 1; i < 16; ++i) folds = folds + row_sum(s.leaf(0) * float(i) + s.leaf(i));
  s.result(folds);
  alignas(64) static float x[2048], y;
  cuda::task job = cuda::task_for(view_of(s.p), {2048});
  for (int i = 0; i < 16; ++i) job.leaves[static_cast<std::size_t>(i)] = {x, {1}, dtype::float32};
  job.results[0].data = &y;
  job.reduced_axes = 1;
  const cuda::plan p = cuda::plan_reduce(job);
  const std::string text = cuda::print_reduce(job, p).text;
  CHECK(text.find("meeting[1024]") != std::string::npos);
  const kiln_tests::grouping_locale german;
  CHECK(cuda::print_reduce(job, p).text == text);
}
