// SPDX-License-Identifier: BSL-1.0
// The portable switch of fibers, beside the one in assembly that all other tests run on.
#define KILN_EMULATOR_UCONTEXT
#include <cuda_emulator/emulate.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

namespace {

__global__ void rotate(int* data) {
  const int got = __shfl_sync(0xffffffffu, data[threadIdx.x], static_cast<int>(threadIdx.x + 1));
  __syncthreads();
  data[threadIdx.x] = got;
}

__global__ void leave_early(const int* data) {
  if (data[threadIdx.x] != 0) __syncthreads();
}

}  // namespace

TEST_CASE("fibers by ucontext meet and end as those by assembly do") {
  std::vector<int> data(64);
  for (std::size_t i = 0; i < 64; ++i) data[i] = static_cast<int>(i);
  emulate::by_ucontext::launch<rotate>({{1}, {64}}, data.data());
  for (std::size_t i = 0; i < 64; ++i) CHECK(data[i] == static_cast<int>(i % 32 == 31 ? i - 31 : i + 1));
  CHECK_THROWS_AS(emulate::launch<leave_early>({{1}, {64}}, data.data()), emulate::failure);
}
