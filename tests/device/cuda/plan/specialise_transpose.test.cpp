// SPDX-License-Identifier: BSL-1.0
// The plan of maps that turn leaves: how many, and that their tiles fit the shared memory of a block.
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/plan/specialise_transpose.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace kiln;

namespace {

// y = x0 + x1 + ... of transposed leaves of a type; the last `again` of them are the first tensor again.
cuda::plan plan_of(dtype type, int count, int again = 0) {
  sheet s;
  symbol sum = s.leaf(0, type);
  for (int k = 1; k < count; ++k) sum = detail::push(opcode_of("add"), type, sum, s.leaf(k, type));
  s.result(sum);
  cuda::task job = cuda::task_for(view_of(s.p), {64, 96});
  static std::vector<std::vector<double>> memory;
  memory.assign(static_cast<std::size_t>(count) + 1, std::vector<double>(64 * 96));
  for (int k = 0; k < count; ++k)
    job.leaves[static_cast<std::size_t>(k)].data = memory[static_cast<std::size_t>(k < count - again ? k : 0)].data();
  for (cuda::leaf_view& x : job.leaves) x.strides = {1, 64};
  job.results[0].data = memory.back().data();
  job.results[0].strides = {96, 1};
  const int axis = cuda::axis_to_turn(job);
  REQUIRE(axis == 0);
  return cuda::plan_transpose(job, axis);
}
int turned(const cuda::plan& p) {
  int n = 0;
  for (std::size_t k = 0; k < p.leaves.size(); ++k)
    n += p.leaves[k].how == cuda::access::turned && p.same_as[k] == static_cast<int>(k);
  return n;
}

}  // namespace

TEST_CASE("specialise_transpose: tiles take at most the 48 KiB that a kernel may declare") {
  constexpr int tile = cuda::tile_size * (cuda::tile_size + 1);
  for (const auto& [type, most] : {std::pair{dtype::float64, 5}, {dtype::float32, 11}, {dtype::bfloat16, 23}}) {
    CHECK(turned(plan_of(type, most)) == most);
    const cuda::plan p = plan_of(type, most + 1);
    CHECK(turned(p) == most);
    CHECK(turned(p) * tile * static_cast<int>(size_of(type)) <= 49152);
    CHECK(p.leaves.back().how == cuda::access::strided);
  }
}

TEST_CASE("specialise_transpose: a tensor that stands in many places has one tile") {
  const cuda::plan p = plan_of(dtype::float64, 9, 5);
  CHECK(turned(p) == 4);
  CHECK(p.leaves.back().how == cuda::access::turned);
}
