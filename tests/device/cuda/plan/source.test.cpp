// SPDX-License-Identifier: BSL-1.0
// Parameters are filled, and blocks are counted, for one task.
#include <kiln/device/cuda/plan/source.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace kiln;

TEST_CASE("source: dividing by multiplication is exact below 2^31") {
  for (const std::int64_t n : {1, 2, 3, 5, 7, 10, 641, 4096, 65535, 65536, 1000003, 2147483647})
    for (const std::int64_t near : {std::int64_t{0}, n - 1, n, n + 1, 7 * n - 1, 7 * n, std::int64_t{123456789},
                                    std::int64_t{2147483646}, std::int64_t{2147483647}}) {
      if (near < 0 || near > 2147483647) continue;
      const std::uint64_t by = cuda::divisor_bits(n);
      const auto x = static_cast<std::uint64_t>(near);
      const std::uint32_t high = static_cast<std::uint32_t>((x * (by & 0xffffffffu)) >> 32);
      const std::uint64_t quotient = (high + static_cast<std::uint32_t>(x)) >> (by >> 32);
      CHECK(quotient == static_cast<std::uint64_t>(near / n));
    }
}

TEST_CASE("source: numbers are narrowed to what the kernel computes in") {
  const std::uint64_t numbers[] = {std::bit_cast<std::uint64_t>(0.1), static_cast<std::uint64_t>(std::int64_t{-2})};
  cuda::task job{.domain = {6, 10}};
  job.numbers = numbers;
  cuda::plan p;
  p.rank = 2;
  p.step = 4;
  using kind = cuda::parameter_kind;
  cuda::source s;
  s.parameters = {{kind::number, 0, 0, dtype::float32},
                  {kind::number, 0, 0, dtype::float64},
                  {kind::number, 1, 0, dtype::int16},
                  {kind::size, 0, 1},
                  {kind::steps},
                  {kind::scratch},
                  {kind::fault}};
  const auto values = arguments_of(s, p, job, {77}, 99);
  float single = 0;
  std::memcpy(&single, &values[0], sizeof(single));
  CHECK(single == 0.1f);
  CHECK(std::bit_cast<double>(values[1]) == 0.1);
  std::int16_t narrow = 0;
  std::memcpy(&narrow, &values[2], sizeof(narrow));
  CHECK(narrow == -2);
  CHECK(values[3] == 10);
  CHECK(values[4] == 3);
  CHECK(values[5] == 77);
  CHECK(values[6] == 99);
}

TEST_CASE("source: a grid has a thread for every step, a warp or a block for every row, up to what runs at once") {
  cuda::plan p;
  p.step = 4;
  const cuda::task job{.domain = {100, 1000}};
  CHECK(blocks_for(p, job, 10000) == (100 * 250 + 255) / 256);
  CHECK(blocks_for(p, job, 7) == 7);
  p.shape = cuda::kernel_shape::block_per_row;
  p.row_axes = 1;
  CHECK(blocks_for(p, job, 10000) == 100);
  p.shape = cuda::kernel_shape::warp_per_row;
  p.threads = 128;
  CHECK(blocks_for(p, job, 10000) == 25);
  CHECK(shares_of(p, 25) == 25);
}
