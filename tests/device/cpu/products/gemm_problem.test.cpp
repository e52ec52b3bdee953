// SPDX-License-Identifier: BSL-1.0
// What a product is asked to do: the type it computes in, the transposed problem, who is told of finished blocks.
#include <doctest/doctest.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/products/gemm_problem.hpp>

using namespace kiln;
using namespace kiln::cpu::detail;

TEST_CASE("gemm problem: half types compute in float, integers without signs, others in themselves") {
  CHECK(std::same_as<gemm_compute<half>, float>);
  CHECK(std::same_as<gemm_compute<bfloat16>, float>);
  CHECK(std::same_as<gemm_compute<std::int8_t>, std::uint32_t>);
  CHECK(std::same_as<gemm_compute<std::int64_t>, std::uint64_t>);
  CHECK(std::same_as<gemm_compute<double>, double>);
}

TEST_CASE("gemm problem: the transposed one has its operands swapped and tells of the same blocks") {
  const float a = 1, b = 2;
  float c = 3;
  std::array<std::int64_t, 4> block{};
  const gemm_epilogue done{
      [](void* object, std::int64_t, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
        *static_cast<std::array<std::int64_t, 4>*>(object) = {r0, r1, c0, c1};
      },
      &block};
  const gemm_problem<float> p{5, 7, 9, &a, 10, 11, &b, 12, 13, &c, 14, 15, true, done};
  const auto t = p.transposed();
  CHECK(t.m == 7);
  CHECK(t.n == 5);
  CHECK(t.a == &b);
  CHECK(t.a_row == 13);
  CHECK(t.a_col == 12);
  CHECK(t.b == &a);
  CHECK(t.b_row == 11);
  CHECK(t.b_col == 10);
  CHECK(t.c_row == 15);
  CHECK(t.c_col == 14);
  p.finish(1, 2, 3, 4);
  CHECK(block == std::array<std::int64_t, 4>{1, 2, 3, 4});
  t.finish(3, 4, 1, 2);  // rows of the transposed result are columns of the result
  CHECK(block == std::array<std::int64_t, 4>{1, 2, 3, 4});
  CHECK(t.transposed().swapped == p.swapped);
}

TEST_CASE("gemm problem: blocks of matrices one below the other are told of matrix by matrix") {
  using block = std::array<std::int64_t, 5>;
  std::vector<block> blocks;
  const gemm_epilogue done{
      [](void* object, std::int64_t matrix, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
        static_cast<std::vector<block>*>(object)->push_back({matrix, r0, r1, c0, c1});
      },
      &blocks, 10, 4};
  const gemm_problem<float> p{20, 7, 9, nullptr, 9, 1, nullptr, 7, 1, nullptr, 7, 1, false, done};
  p.finish(3, 13, 2, 5);
  const std::vector<block> parts{{10, 3, 4, 2, 5}, {11, 0, 4, 2, 5}, {12, 0, 4, 2, 5}, {13, 0, 1, 2, 5}};
  CHECK(blocks == parts);
  blocks.clear();
  p.transposed().finish(2, 5, 3, 13);
  CHECK(blocks == parts);
}

TEST_CASE("gemm problem: sizes are rounded up to whole steps") {
  CHECK(divide_up(7, 3) == 3);
  CHECK(divide_up(6, 3) == 2);
  CHECK(round_up(7, 3) == 9);
  CHECK(round_up(0, 3) == 0);
}
