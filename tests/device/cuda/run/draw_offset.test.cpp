// SPDX-License-Identifier: BSL-1.0
// Where kernels read how far their random numbers lie beyond those that they were queued for. What graphs make of it
// stands in tests/gpu/draws.test.cpp.
#include <kiln/device/cuda/run/draw_offset.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

using namespace kiln;

TEST_CASE("draw offset: 0 in device memory, that of the graph while one is recorded") {
  emulate::stand_in();
  const std::uint64_t* const usual = cuda::draw_offset(Cuda{});
  CHECK(usual == cuda::draw_offset(Cuda{}));
  CHECK(cuda::read_value<std::uint64_t>(usual, cuda::current_stream(Cuda{})) == 0);
  std::uint64_t word = 5;
  cuda::detail::recording_draws = {&word, false};
  CHECK(cuda::draw_offset(Cuda{}) == &word);
  CHECK(cuda::detail::recording_draws.any);
  cuda::detail::recording_draws = {};
  CHECK(cuda::draw_offset(Cuda{}) == usual);
}
