// SPDX-License-Identifier: BSL-1.0
// Who holds a row, and which results are sums.
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/plan/specialise_rows.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <string>
#include <tuple>

using namespace kiln;

namespace {
alignas(256) char memory[1 << 16];

// y0 = x0 - sum(x0) * x1, over rows of this length.
cuda::task centred(sheet& s, std::int64_t length, const dims& y = {}) {
  const symbol x = s.leaf(0);
  s.result(x - row_sum(x) * s.leaf(1));
  cuda::task job = cuda::task_for(view_of(s.p), {6, length});
  job.reduced_axes = 0b10;
  job.leaves[0] = {memory, {length, 1}, dtype::float32};
  job.leaves[1] = {memory + 16384, {0, 1}, dtype::float32};
  job.results[0].data = memory + 32768;
  job.results[0].strides = y.empty() ? dims{length, 1} : y;
  return job;
}
cuda::plan plan_for(std::int64_t length) {
  sheet s;
  cuda::task job = centred(s, length);
  return cuda::plan_rows(job);
}
}  // namespace

TEST_CASE("specialise_rows: short rows go to warps, longer ones to blocks, the longest are read once per pass") {
  CHECK(plan_for(64).shape == cuda::kernel_shape::warp_per_row);
  CHECK(plan_for(2048).shape == cuda::kernel_shape::block_per_row);
  CHECK(plan_for(1 << 20).shape == cuda::kernel_shape::long_rows);
}

TEST_CASE("specialise_rows: what threads hold covers the row") {
  for (const std::int64_t length : {1, 31, 33, 500, 1024, 1025, 5000, 20000}) {
    const cuda::plan p = plan_for(length);
    const int group = p.shape == cuda::kernel_shape::warp_per_row ? p.lanes : p.threads;
    if (p.held) CHECK(group * p.held * p.step >= length);
    CHECK(p.held * p.step <= cuda::most_held);
  }
}

TEST_CASE("specialise_rows: short rows leave lanes of a warp to other rows") {
  // Rows of vectors of four: two for each lane.
  for (const auto& [length, lanes, held] : {std::tuple{4, 1, 1},
                                            {8, 1, 2},
                                            {12, 2, 2},
                                            {64, 8, 2},
                                            {68, 16, 2},
                                            {128, 16, 2},
                                            {256, 32, 2},
                                            {512, 32, 4}}) {
    const cuda::plan p = plan_for(length);
    CHECK(p.step == 4);
    CHECK(p.lanes == lanes);
    CHECK(p.held == held);
  }
  CHECK(cuda::rows_per_block(plan_for(64)) == 16);
  CHECK(cuda::shares_of(plan_for(64), 3) == 3);  // one for each block
}

TEST_CASE(
    "specialise_rows: a row of two arrays that registers cannot hold is kept in shared memory, if a block has that") {
  const auto plan_of = [](std::int64_t length, std::size_t shared_bytes) {
    sheet s;
    const symbol g = s.leaf(0), y = s.leaf(1);
    s.result((g - row_sum(g * y)) * y);  // softmax's gradient
    cuda::task job = cuda::task_for(view_of(s.p), {600, length});
    job.reduced_axes = 0b10;
    for (std::size_t k = 0; k < 2; ++k) job.leaves[k] = {memory + 64 * k, {length, 1}, dtype::float32};
    job.results[0].data = memory + 16384;
    job.results[0].strides = {length, 1};
    return cuda::plan_rows(job, shared_bytes);
  };
  const cuda::plan p = plan_of(32768, cuda::most_row_bytes);
  CHECK(p.shape == cuda::kernel_shape::block_per_row);
  CHECK(p.leaves[0].kept == cuda::row_place::registers);
  CHECK(p.leaves[1].kept == cuda::row_place::shared);
  CHECK(p.shared_bytes == 32768 * 4);
  CHECK(plan_of(32768, std::size_t{99} << 10).shape == cuda::kernel_shape::long_rows);
  // Where registers hold both, shared memory takes the next row.
  CHECK(plan_of(16384, cuda::most_row_bytes).leaves[1].kept == cuda::row_place::ahead);
  CHECK(plan_of(16384, cuda::most_row_bytes).shared_bytes == 2 * 16384 * 4);
  CHECK(plan_of(8192, cuda::most_row_bytes).shared_bytes == 0);
}

TEST_CASE("specialise_rows: longer rows are held by as few blocks of a cluster as can, if they are read again") {
  const auto plan_of = [](std::int64_t length, int cluster, bool again = true) {
    sheet s;
    const symbol g = s.leaf(0), y = s.leaf(1), sum = row_sum(g * y);
    s.result(again ? (g - sum) * y : sum);
    cuda::task job = cuda::task_for(view_of(s.p), {600, length});
    job.reduced_axes = 0b10;
    job.reduction_rooted = !again;
    for (std::size_t k = 0; k < 2; ++k) job.leaves[k] = {memory + 64 * k, {length, 1}, dtype::float32};
    job.results[0].data = memory + 16384;
    job.results[0].strides = again ? dims{length, 1} : dims{1, 0};
    return cuda::plan_rows(job, cuda::most_row_bytes, cluster);
  };
  CHECK(plan_of(32768, 8).cluster == 1);
  CHECK(plan_of(65536, 8).cluster == 2);
  CHECK(plan_of(1 << 18, 8).cluster == 8);
  CHECK(plan_of(1 << 18, 4).shape == cuda::kernel_shape::long_rows);
  CHECK(plan_of(1 << 20, 8).shape == cuda::kernel_shape::long_rows);
  CHECK(plan_of(65536, 1).shape == cuda::kernel_shape::long_rows);
  CHECK(plan_of(131072, 8, false).shape == cuda::kernel_shape::long_rows);
  const cuda::plan p = plan_of(1 << 18, 8);
  CHECK(p.cluster * p.threads * p.held * p.step >= 1 << 18);
  CHECK(cuda::shares_of(p, 24) == 3);
  CHECK(cuda::whole_clusters(p, 30) == 24);
  CHECK(cuda::whole_clusters(p, 3) == 8);
  CHECK(p.key().find("cluster_per_row rank 2 row 1 step 4 int32 threads 1024 cluster 8 held") == 0);
}

TEST_CASE("specialise_rows: what every row reads again takes no registers, and a warp then holds 1024 elements") {
  for (const dtype type : {dtype::float32, dtype::bfloat16}) {
    sheet s;
    const symbol x = s.leaf(0, type);
    s.result((x - row_sum(x)) * s.leaf(1, type));
    cuda::task job = cuda::task_for(view_of(s.p), {600, 1024});
    job.reduced_axes = 0b10;
    job.leaves[0] = {memory, {1024, 1}, type};
    job.leaves[1] = {memory + 16384, {0, 1}, type};
    job.results[0] = {memory + 32768, {1024, 1}, type, false};
    const cuda::plan p = cuda::plan_rows(job);
    CHECK(p.shape == cuda::kernel_shape::warp_per_row);
    CHECK(p.lanes == 32);
    CHECK(p.held * p.step == 32);
    CHECK(p.leaves[1].kept == cuda::row_place::memory);
  }
  // Of one row there is no other.
  sheet s;
  s.result(s.leaf(0) - row_sum(s.leaf(0)));
  cuda::task job = cuda::task_for(view_of(s.p), {1024});
  job.reduced_axes = 1;
  job.leaves[0] = {memory, {1}, dtype::float32};
  job.results[0] = {memory + 16384, {1}, dtype::float32, false};
  CHECK(cuda::plan_rows(job).leaves[0].kept == cuda::row_place::registers);
}

TEST_CASE("specialise_rows: a plan says where a row is exactly what its threads hold, which is no more than it takes") {
  for (const auto& [length, held, filled] : {std::tuple{256, 2, true},
                                             {260, 3, false},
                                             {512, 4, true},
                                             {640, 5, true},
                                             {768, 6, true},
                                             {770, 13, false},
                                             {1024, 8, true}}) {
    CAPTURE(length);
    const cuda::plan p = plan_for(length);
    CHECK(p.held == held);
    CHECK(p.filled == filled);
  }
}

TEST_CASE("specialise_rows: of sums over the rows few blocks run at once, with the next row on its way") {
  const auto plan_of = [](std::int64_t length, dtype type) {
    sheet s;
    const symbol x = s.leaf(0, type), g = s.leaf(1, type);
    s.result(g - row_sum(g * x));
    s.result(g * x);
    cuda::task job = cuda::task_for(view_of(s.p), {600, length});
    job.reduced_axes = 0b10;
    for (std::size_t k = 0; k < 2; ++k) job.leaves[k] = {memory + 64 * k, {length, 1}, type};
    job.results[0] = {memory + 16384, {length, 1}, type, false};
    job.results[1] = {memory + 32768, {0, 1}, type, false};
    return cuda::plan_rows(job);
  };
  for (const auto& [length, type, threads, blocks] : {std::tuple{1024, dtype::bfloat16, 512, 1},
                                                      {1024, dtype::float32, 384, 1},
                                                      {4096, dtype::bfloat16, 128, 4},
                                                      {8192, dtype::bfloat16, 256, 2},
                                                      {8192, dtype::float32, 512, 1},
                                                      {16384, dtype::bfloat16, 512, 1}}) {
    CAPTURE(length);
    CAPTURE(type);
    const cuda::plan p = plan_of(length, type);
    CHECK(p.threads == threads);
    CHECK(p.least_blocks == blocks);
    CHECK(p.leaves[0].kept == cuda::row_place::ahead);
    CHECK(p.leaves[1].kept == cuda::row_place::ahead);
    CHECK(p.shared_bytes ==
          2 * static_cast<std::size_t>(length) * size_of(type) *
              (p.shape == cuda::kernel_shape::warp_per_row ? static_cast<std::size_t>(threads / 32) : 1));
    CHECK(p.shared_bytes * static_cast<std::size_t>(blocks) < cuda::most_row_bytes);
    CHECK(p.step * static_cast<int>(size_of(type)) == 16);
  }
}

TEST_CASE("specialise_rows: results narrower than the domain are sums") {
  auto sum = [](const dims& y) {
    sheet s;
    cuda::task job = centred(s, 100, y);
    return cuda::plan_rows(job).sums[0];
  };
  CHECK(sum({100, 1}) == cuda::summed::nothing);
  CHECK(sum({0, 1}) == cuda::summed::across_rows);
  CHECK(sum({1, 0}) == cuda::summed::along_row);
  CHECK(sum({0, 0}) == cuda::summed::everything);
}

TEST_CASE("specialise_rows: rows along axes that do not join are refused with a sentence") {
  sheet s;
  s.result(row_sum(s.leaf(0)));
  cuda::task job = cuda::task_for(view_of(s.p), {4, 3, 5});
  job.reduced_axes = 0b101;
  job.reduction_rooted = true;
  job.leaves[0] = {memory, {15, 5, 1}, dtype::float32};
  job.results[0].data = memory + 16384;
  job.results[0].strides = {0, 1, 0};
  CHECK_THROWS_AS(cuda::plan_rows(job), value_error);
}
