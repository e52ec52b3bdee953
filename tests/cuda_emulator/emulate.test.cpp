// SPDX-License-Identifier: BSL-1.0
// Kernels that are part of the test's own file, under the sanitizers of the build.
#include <cuda_emulator/emulate.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

__global__ void softmax(const float* __restrict__ in, float* __restrict__ out, int columns) {
  __shared__ float part[8];
  const float* row = in + blockIdx.x * static_cast<unsigned>(columns);
  float sum = 0;
  for (auto i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) sum += expf(row[i]);
  for (int flip = 16; flip > 0; flip /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, flip);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned i = 0; i < blockDim.x / 32; ++i) sum += part[i];
  for (auto i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x))
    out[blockIdx.x * static_cast<unsigned>(columns) + static_cast<unsigned>(i)] = expf(row[i]) / sum;
}

__global__ void barrier_for_some() {
  if (threadIdx.x < 3) __syncthreads();
}

}  // namespace

TEST_CASE("a kernel of the test's own file runs over its grid") {
  constexpr int rows = 5, columns = 70;
  std::vector<float> in(rows * columns), out(rows * columns);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i));
  for (const unsigned seed : {0u, 1u, 9u}) {
    emulate::launch<softmax>({{rows}, {64}, 0, seed}, in.data(), out.data(), columns);
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < columns; ++i) sum += std::exp(static_cast<double>(in[row * columns + i]));
      for (std::size_t i = 0; i < columns; ++i)
        CHECK(out[row * columns + i] == doctest::Approx(std::exp(static_cast<double>(in[row * columns + i])) / sum));
    }
  }
}

TEST_CASE("after a report the next launch works") {
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(emulate::launch<barrier_for_some>({{1}, {32}}), emulate::failure);
  std::vector<float> in(1, 2.0f), out(1);
  emulate::launch<softmax>({{1}, {32}}, in.data(), out.data(), 1);
  CHECK(out[0] == 1);
}
