// SPDX-License-Identifier: BSL-1.0
// The plan of maps that turn leaves: how many, and that their tiles fit the shared memory of a block.
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/plan/specialise_transpose.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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
    n += p.leaves[k].how >= cuda::access::turned && p.same_as[k] == static_cast<int>(k);
  return n;
}

}  // namespace

TEST_CASE("specialise_transpose: tiles take at most the 48 KiB that a kernel may declare") {
  for (const auto& [type, most] : {std::pair{dtype::float64, 5}, {dtype::float32, 11}, {dtype::bfloat16, 22}}) {
    CHECK(turned(plan_of(type, most)) == most);
    const cuda::plan p = plan_of(type, most + 1);
    CHECK(turned(p) == most);
    CHECK(turned(p) * 32 * cuda::tile_pitch(32, size_of(type)) * static_cast<int>(size_of(type)) <= 49152);
    CHECK(p.leaves.back().how == cuda::access::strided);
  }
}

TEST_CASE("specialise_transpose: a tensor that stands in many places has one tile") {
  const cuda::plan p = plan_of(dtype::float64, 9, 5);
  CHECK(turned(p) == 4);
  CHECK(p.leaves.back().how == cuda::access::turned);
}

TEST_CASE("specialise_transpose: 64 x 64 tiles and 16 bytes at once, where the axes and shared memory have room") {
  for (const auto& [type, step] : {std::pair{dtype::float64, 2}, {dtype::float32, 4}, {dtype::bfloat16, 8}}) {
    const cuda::plan p = plan_of(type, 1);
    CHECK(p.tile == 64);
    CHECK(p.step == step);
    CHECK(p.leaves[0].how == cuda::access::turned);
  }
  CHECK(plan_of(dtype::float32, 2).tile == 64);
  CHECK(plan_of(dtype::float32, 3).tile == 32);
  CHECK(plan_of(dtype::float64, 2).tile == 32);
}

TEST_CASE("specialise_transpose: neither way through a tile do the lanes of a warp meet in a bank of shared memory") {
  // 4-byte words of which each bank serves one at a time; 8-byte elements go by half warps. `lanes` lie side by side.
  const auto conflicts = [](int tile, int size, int step, int lanes, bool along) {
    const int pitch = cuda::tile_pitch(tile, static_cast<std::size_t>(size)), part = size == 8 ? 16 : 32;
    int worst = 0;
    for (int k = 0; k < step; ++k) {
      std::vector<std::vector<int>> words(32);
      for (int lane = 0; lane < part; ++lane) {
        const int at = lane % lanes * step + k, line = lane / lanes;
        const int byte = size * (along ? line * pitch + at : at * pitch + line);
        for (int word = byte / 4; word <= (byte + size - 1) / 4; ++word) {
          std::vector<int>& bank = words[static_cast<std::size_t>(word % 32)];
          if (std::count(bank.begin(), bank.end(), word) == 0) bank.push_back(word);
        }
      }
      for (const auto& bank : words) worst = std::max(worst, static_cast<int>(bank.size()));
    }
    return worst;
  };
  for (const int tile : {32, 64})
    for (const bool along : {false, true}) {
      CHECK(conflicts(tile, 4, 4, 8, along) == 1);
      CHECK(conflicts(tile, 4, 1, 32, along) == 1);
      CHECK(conflicts(tile, 8, 2, 8, along) == 1);
    }
  CHECK(conflicts(64, 2, 8, 8, true) == 1);
  CHECK(conflicts(64, 2, 8, 8, false) == 2);  // down columns of half types, two lanes meet
}
