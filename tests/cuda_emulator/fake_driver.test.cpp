// SPDX-License-Identifier: BSL-1.0
// What the fake driver knows of limits: shared memory as a text declares it, and which launches it refuses.
#include <cuda_emulator/fake_driver/declared_shared.hpp>
#include <cuda_emulator/fake_driver/limits.hpp>
#include <cuda_emulator/module.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using emulate::named_text;
using kiln::cuda::driver_result;

namespace {

std::optional<std::size_t> declared(const std::string& body, const std::vector<named_text>& headers = {}) {
  return emulate::declared_shared_bytes("extern \"C\" __global__ void k(int* x) {" + body + "}", "k", headers);
}

}  // namespace

TEST_CASE("declared shared memory is read off a text") {
  CHECK(declared("") == 0u);
  CHECK(declared("__shared__ uint64 meeting[64];") == 512u);
  CHECK(declared("__shared__ float tile[64][65]; if (*x) { __shared__ double more[9 * 256]; }") == 16'640u + 18'432u);
  CHECK(declared("__shared__ bfloat16 odd[3]; __shared__ int one;") == 12u);  // the second begins at a multiple of 8
  CHECK(declared("__shared__ vec<float, 4> x[2]; __shared__ char c; __shared__ vec<float, 8> y[3];") == 160u);
  CHECK(declared("extern __shared__ __align__(16) uint64 memory[];") == 0u);
}

TEST_CASE("declared shared memory that a text does not tell is not guessed") {
  CHECK_FALSE(declared("__shared__ float x[count];").has_value());
  CHECK_FALSE(declared("__shared__ vec<float, n> x[2];").has_value());
  CHECK_FALSE(declared("", {{"a.cuh", "__device__ void f() { __shared__ int x; }"}}).has_value());
  CHECK_FALSE(emulate::declared_shared_bytes("", "absent", std::vector<named_text>{}).has_value());
}

TEST_CASE("kernels of one text declare memory of their own") {
  const std::string text =
      "extern \"C\" __global__ void a(int* x) { __shared__ int u[2]; }\n"
      "extern \"C\" __global__ void b(int* x) { __shared__ int u[6]; }\n";
  CHECK(emulate::declared_shared_bytes(text, "a", std::vector<named_text>{}) == 8u);
  CHECK(emulate::declared_shared_bytes(text, "b", std::vector<named_text>{}) == 24u);
}

TEST_CASE("launches beyond a limit are refused with the driver's code") {
  emulator::kernel kernel{.run = nullptr, .sizes = nullptr, .count = 0, .most_threads = 256, .cluster = 2};
  const auto ask = [&](std::size_t blocks, std::size_t threads, std::size_t shared, std::size_t registers = 32) {
    return kiln::cuda::stand_in::check_launch({blocks, 1, 1, threads, 1, 1, shared}, kernel, 1000, registers);
  };
  CHECK(ask(4, 256, 1000) == driver_result::success);
  CHECK(ask(0, 256, 0) == driver_result::invalid_value);
  CHECK(ask(4, 257, 0) == driver_result::invalid_value);
  CHECK(ask(4, 256, 1001) == driver_result::invalid_value);
  CHECK(ask(3, 256, 0) == driver_result::invalid_cluster_size);
  CHECK(ask(4, 256, 0, 257) == driver_result::launch_out_of_resources);
}

TEST_CASE("limits are those of the architecture") {
  using kiln::cuda::stand_in::limits_of;
  CHECK(limits_of(75).shared_of_a_block == 65'536);
  CHECK(limits_of(80).shared_of_a_block == 166'912);
  CHECK(limits_of(89).shared_of_a_block == 101'376);
  CHECK(limits_of(90).shared_of_a_block == 232'448);
  // 1 KiB of each block is the system's.
  CHECK(kiln::cuda::stand_in::resident_blocks(limits_of(90), 256, 32, 0) == 8);
  CHECK(kiln::cuda::stand_in::resident_blocks(limits_of(90), 256, 32, 114 << 10) == 1);
  CHECK(kiln::cuda::stand_in::resident_blocks(limits_of(90), 256, 32, 113 << 10) == 2);
}
