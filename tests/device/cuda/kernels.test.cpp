// SPDX-License-Identifier: BSL-1.0
// Loaded kernels are shared by all that ask for one text, and what cannot be loaded is asked for again.
#include <kiln/device/cuda/kernels.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

using namespace kiln;
using kiln::cuda::detail::view_of;

namespace {

const program& negation(dtype type) {
  static program tapes[2];
  program& tape = tapes[type == dtype::float64];
  if (tape.size() == 0) {
    const int x = tape.push({.code = opcode::leaf, .type = type, .slot = 0});
    tape.add_result(tape.push({.code = opcode_of("neg"), .type = type, .a = static_cast<std::int16_t>(x)}));
  }
  return tape;
}
std::vector<cuda::launch> launches_of(dtype type, std::int64_t n) {
  cuda::task job = cuda::task_for(view_of(negation(type)), {n});
  job.leaves[0] = {reinterpret_cast<void*>(std::uintptr_t{1} << 30), {1}, type, true};
  job.results[0] = {reinterpret_cast<void*>(std::uintptr_t{1} << 31), {1}, type, false};
  return cuda::schedule(job, {}, {});
}

}  // namespace

TEST_CASE("kernels: sizes do not matter, types and devices do") {
  const auto& device = emulate::stand_in();
  const long before = device.compiled();
  const auto one = cuda::kernel_of(launches_of(dtype::float32, 64)[0], {});
  CHECK(cuda::kernel_of(launches_of(dtype::float32, 128)[0], {}) == one);
  CHECK(device.compiled() <= before + 1);
  CHECK(cuda::kernel_of(launches_of(dtype::float64, 64)[0], {}) != one);
  CHECK(cuda::kernel_of(launches_of(dtype::float32, 64)[0], Cuda{1}) != one);
  CHECK(one->parameters.size() == 3);
  // One load for each device and type.
  CHECK(device.count("cuModuleLoadData") == 3);
}

TEST_CASE("kernels: a constant is part of the text, so of the key") {
  program a, b;
  a.add_result(a.push({.code = opcode::constant, .type = dtype::float32, .literal = literal_for(dtype::float32, 1)}));
  b.add_result(b.push({.code = opcode::constant, .type = dtype::float32, .literal = literal_for(dtype::float32, 2)}));
  const cuda::plan how;
  CHECK(cuda::detail::key_of(view_of(a), how) != cuda::detail::key_of(view_of(b), how));
}

TEST_CASE("kernels: a text that is no CUDA says so with its lines, and not while a graph is captured") {
  emulate::stand_in();
  const cuda::source wrong{.text = "this is no kernel\n", .name = "wrong", .parameters = {}};
  CHECK_THROWS_WITH_AS(cuda::load_kernel("wrong", wrong, {}), doctest::Contains("   1  this is no kernel"),
                       device_error);
  cuda::detail::capturing = true;
  CHECK_THROWS_WITH_AS(cuda::load_kernel("wrong", wrong, {}), doctest::Contains("capture"), device_error);
  cuda::detail::capturing = false;
}
