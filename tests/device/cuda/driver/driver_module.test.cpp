// SPDX-License-Identifier: BSL-1.0
// Loading and launching compiled kernels over the stand-in, and what is said when it fails.
#include <kiln/device/cuda/compile/compile.hpp>
#include <kiln/device/cuda/driver/driver_module.hpp>

#include <kiln/device/cuda/memory/memory_copy.hpp>
#include <kiln/device/cuda/run/graph.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using kiln::Cuda;
using kiln::ref;
using kiln::storage;
using kiln::cuda::current_stream;
using kiln::cuda::device_function;
using kiln::cuda::loaded_module;
using kiln::cuda::read_value;

namespace {

std::string compile(const std::string& text) {
  const int architecture = kiln::cuda::properties(Cuda{0}).architecture;
  return kiln::cuda::compile_with(kiln::cuda::nvrtc())({text, "kernels", architecture, {}, {}}).image;
}

// Compiled once: that is what costs time.
const std::string& image() {
  static const std::string compiled = compile(R"(
extern "C" __global__ void add(int* place, int value) { if (threadIdx.x == 0 && blockIdx.x == 0) *place += value; }
extern "C" __global__ void stray(int* place) { place[1 << 20] = 1; }
extern "C" __global__ void fill_shared(int* place, int count) {
  extern __shared__ int memory[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) memory[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *place = memory[count - 1];
}
)");
  return compiled;
}

void add(const device_function& kernel, const ref<storage>& place, int value) {
  void* arguments[] = {&place->data, &value};
  kernel.launch({.grid_x = 2, .block_x = 32}, current_stream(kernel.device()), arguments);
}

std::vector<void*> add_arguments(const ref<storage>& place) {
  static int value = 1;
  return {&place->data, &value};
}

}  // namespace

TEST_CASE("a kernel is launched with copies of its arguments, and nothing waits") {
  const auto& device = emulate::stand_in();
  const loaded_module code(Cuda{0}, image().data());
  const device_function kernel = code.function("add");
  const ref<storage> place = kiln::cuda::new_storage(4);
  kiln::cuda::fill_bytes(place->data, 0, 4, current_stream(Cuda{0}));
  for (int i = 1; i <= 3; ++i) add(kernel, place, i);
  if (device.emulated()) CHECK(device.count("cuStreamSynchronize") == 0);
  CHECK(read_value<int>(place->data, current_stream(Cuda{0})) == 6);
  CHECK(kernel.blocks_per_multiprocessor(256, 0) == 8);
  CHECK(kernel.attribute(kiln::cuda::function_attribute::max_threads_per_block) == 1024);
}

TEST_CASE("a kernel that waits for the one before may be launched early, in graphs too, unless that is switched off") {
  const auto& device = emulate::stand_in();
  if (emulate::skip_on_gpu("it counts the driver's calls, and reports a kernel that does not wait")) return;
  const std::string waits = compile(R"( #include <kernels/types.cuh>
extern "C" __global__ void add_in_turn(int* place, int value) {
  kiln::kernels::begin_grid();
  if (threadIdx.x == 0 && blockIdx.x == 0) *place += value;
}
)");
  const loaded_module code(Cuda{0}, waits.data()), other(Cuda{0}, image().data());
  device_function kernel = code.function("add_in_turn"), plain = other.function("add");
  kernel.waits_for_grid();
  const ref<storage> place = kiln::cuda::new_storage(4);
  kiln::cuda::fill_bytes(place->data, 0, 4, current_stream(Cuda{0}));
  const auto early = [&] { return device.count("cuLaunchKernelEx"); };
  add(kernel, place, 1), add(kernel, place, 2);
  CHECK(early() == 2);
  add(plain, place, 4);
  CHECK(early() == 2);
  kiln::cuda::set_dependent_launch(false);
  CHECK_FALSE(kiln::cuda::dependent_launch());
  add(kernel, place, 8);
  kiln::cuda::set_dependent_launch(true);
  CHECK(early() == 2);
  const auto graph = kiln::cuda::capture([&] { add(kernel, place, 16); }, Cuda{0}, 0);
  CHECK(early() == 3);
  graph.replay();
  CHECK(read_value<int>(place->data, current_stream(Cuda{0})) == 31);
  // One that says that it waits, and does not, is found.
  plain.waits_for_grid();
  add(plain, place, 1);
  CHECK_THROWS_AS(current_stream(Cuda{0}).synchronize(), kiln::device_error);
  CHECK(device.report().find("was launched early, and ") != std::string::npos);
}

TEST_CASE("a captured launch is repeated by each replay") {
  emulate::stand_in();
  const loaded_module code(Cuda{0}, image().data());
  const device_function kernel = code.function("add");
  const ref<storage> place = kiln::cuda::new_storage(4);
  const auto& own = current_stream(Cuda{0});
  kiln::cuda::fill_bytes(place->data, 0, 4, own);
  const auto graph = kiln::cuda::capture([&] { add(kernel, place, 5); });
  for (int i = 0; i < 3; ++i) graph.replay();
  CHECK(read_value<int>(place->data, own) == 20);  // one warm-up and three replays
  CHECK_THROWS_WITH_AS(kiln::cuda::capture([&] { loaded_module(Cuda{0}, image().data()); }, Cuda{0}, 0),
                       doctest::Contains("loading a kernel: not possible while a graph is captured"),
                       kiln::device_error);
}

TEST_CASE("shared memory above 48 KiB has to be allowed, and above the device's limit is an error") {
  emulate::stand_in();
  const loaded_module code(Cuda{0}, image().data());
  const device_function kernel = code.function("fill_shared");
  const ref<storage> place = kiln::cuda::new_storage(4);
  int count = 25'000;
  void* arguments[] = {&place->data, &count};
  const kiln::cuda::launch_size size{.block_x = 64, .shared_bytes = 100'000};
  CHECK_THROWS_WITH_AS(kernel.launch(size, current_stream(Cuda{0}), arguments),
                       doctest::Contains("launch of fill_shared with 1x1x1 blocks of 64x1x1 threads, 100000 bytes"),
                       kiln::device_error);
  kernel.allow_shared_bytes(100'000);
  kernel.launch(size, current_stream(Cuda{0}), arguments);
  CHECK(read_value<int>(place->data, current_stream(Cuda{0})) == 24'999);
  CHECK_THROWS_WITH_AS(kernel.allow_shared_bytes(300'000), doctest::Contains("would need 300000 bytes"),
                       kiln::device_error);
}

TEST_CASE("shared memory that a kernel declares counts towards both limits") {
  emulate::stand_in();
  const std::string made = compile(R"(
extern "C" __global__ void declares(int* place, int count) {
  __shared__ int declared[2048];
  extern __shared__ int memory[];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) declared[i] = i;
  for (int i = threadIdx.x; i < count; i += blockDim.x) memory[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *place = memory[count - 1] + declared[2047];
}
)");
  const loaded_module code(Cuda{0}, made.data());
  const device_function kernel = code.function("declares");
  const std::size_t declared = 8192, without = 49'152 - declared;
  CHECK(kernel.attribute(kiln::cuda::function_attribute::shared_size_bytes) == static_cast<int>(declared));
  const ref<storage> place = kiln::cuda::new_storage(4);
  int count = 1;
  void* arguments[] = {&place->data, &count};
  const auto launch = [&](std::size_t bytes) {
    kernel.launch({.block_x = 64, .shared_bytes = bytes}, current_stream(Cuda{0}), arguments);
  };
  CHECK_NOTHROW(launch(without));
  CHECK_THROWS_WITH_AS(launch(without + 16), doctest::Contains("CUDA_ERROR_INVALID_VALUE (1)"), kiln::device_error);
  kernel.allow_shared_bytes(without + 16);
  count = static_cast<int>(without + 16) / 4;
  launch(without + 16);
  CHECK(read_value<int>(place->data, current_stream(Cuda{0})) == count - 1 + 2047);
  const auto most = static_cast<std::size_t>(kiln::cuda::properties(Cuda{0}).shared_bytes_per_block);
  CHECK_NOTHROW(kernel.allow_shared_bytes(most - declared));
  CHECK_NOTHROW(launch(most - declared));
  CHECK_THROWS_WITH_AS(kernel.allow_shared_bytes(most - declared + 16),
                       doctest::Contains("beside the 8192 that the kernel declares"), kiln::device_error);
}

TEST_CASE("a grid that is not whole clusters is refused") {
  const auto& device = emulate::stand_in();
  if (kiln::cuda::properties(Cuda{0}).architecture < 90) {
    MESSAGE("SKIPPED: this GPU has no clusters");
    return;
  }
  const std::string made = compile(
      "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) paired(int* place) { if (blockIdx.x == 3) *place = 7; }");
  const loaded_module code(Cuda{0}, made.data());
  const ref<storage> place = kiln::cuda::new_storage(4);
  void* arguments[] = {&place->data};
  const auto launch = [&](unsigned blocks) {
    code.function("paired").launch({.grid_x = blocks, .block_x = 1}, current_stream(Cuda{0}), arguments);
  };
  CHECK_THROWS_WITH_AS(launch(3), doctest::Contains(device.emulated() ? "CUDA_ERROR_INVALID_CLUSTER_SIZE (912)" : ""),
                       kiln::device_error);
  launch(4);
  CHECK(read_value<int>(place->data, current_stream(Cuda{0})) == 7);
}

TEST_CASE("bad images, names, streams and handles are errors that say what to do") {
  const auto& device = emulate::stand_in();
  const std::string junk(256, 'x');
  CHECK_THROWS_WITH_AS(loaded_module(Cuda{0}, junk.data()),
                       doctest::Contains(device.emulated() ? "(sm_90) and the driver runs CUDA 13.0" : "driver runs"),
                       kiln::device_error);
  loaded_module code(Cuda{0}, image().data());
  const loaded_module moved = std::move(code);
  CHECK_NOTHROW(moved.function("add"));
  CHECK_THROWS_WITH_AS(moved.function("absent"), doctest::Contains("kernel absent"), kiln::device_error);
  if (emulate::lacks_second_device()) return;
  const ref<storage> place = kiln::cuda::new_storage(4, Cuda{1});
  int value = 1;
  void* arguments[] = {&place->data, &value};
  CHECK_THROWS_WITH_AS(moved.function("add").launch({}, current_stream(Cuda{1}), arguments),
                       doctest::Contains("loaded on device 0, but the stream is of device 1"), kiln::device_error);
}

TEST_CASE("a kernel that fails is named: at the next wait, or at its launch on request") {
  if (emulate::skip_on_gpu("a kernel that strays ends the use of a GPU")) return;
  const auto& device = emulate::stand_in();
  const loaded_module code(Cuda{0}, image().data());
  const device_function kernel = code.function("stray");
  const ref<storage> place = kiln::cuda::new_storage(4);
  void* arguments[] = {&place->data};
  kernel.launch({}, current_stream(Cuda{0}), arguments);
  CHECK_THROWS_WITH_AS(current_stream(Cuda{0}).synchronize(), doctest::Contains("the last one queued is stray"),
                       kiln::device_error);
  CHECK(device.report().find("writes 4 bytes") != std::string::npos);
  CHECK_THROWS_AS(add(code.function("stray"), place, 1), kiln::device_error);  // the device can be used no longer

  device.reset();
  kiln::cuda::set_launch_waits(true);
  CHECK_THROWS_WITH_AS(kernel.launch({}, current_stream(Cuda{0}), arguments),
                       doctest::Contains("launch of stray: CUDA_ERROR_ILLEGAL_ADDRESS"), kiln::device_error);
  kiln::cuda::set_launch_waits(false);
  device.reset();
  device.set("fail_launch", 2);
  const device_function sound = code.function("add");
  const auto& own = current_stream(Cuda{0});
  kiln::cuda::fill_bytes(place->data, 0, 4, own);
  add(sound, place, 1);
  add(sound, place, 1);
  CHECK_THROWS_WITH_AS(own.synchronize(), doctest::Contains("unspecified launch failure"), kiln::device_error);
  device.reset();
}

TEST_CASE("an image that was cut off is refused before a driver reads on behind its end") {
  const std::string& whole = image();
  kiln::cuda::check_image(whole);
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : whole.size() / 97) {
    CAPTURE(size);
    CHECK_THROWS_AS(kiln::cuda::check_image(std::string_view(whole).substr(0, size)), kiln::cuda::bad_image);
  }
  CHECK_THROWS_AS(kiln::cuda::check_image(std::string_view(whole).substr(0, whole.size() - 1)), kiln::cuda::bad_image);
  // Sizes and places that wrap around.
  for (const std::size_t field : {std::size_t{32}, std::size_t{40}}) {
    std::string damaged = whole;
    damaged.replace(field, 8, 8, '\xff');
    CHECK_THROWS_AS(kiln::cuda::check_image(damaged), kiln::cuda::bad_image);
  }
  kiln::cuda::check_image(std::string(64, 'x'));  // no ELF: a driver knows what to say
}

TEST_CASE("a block of more threads than a kernel is compiled for, or than have registers, is refused") {
  if (emulate::skip_on_gpu("it says how many registers a kernel has")) return;
  const auto& device = emulate::stand_in();
  const std::string bounded = compile("extern \"C\" __global__ void __launch_bounds__(64) bounded(int* x) { *x = 1; }");
  const loaded_module code(Cuda{0}, bounded.data());
  const device_function kernel = code.function("bounded");
  CHECK(kernel.attribute(kiln::cuda::function_attribute::max_threads_per_block) == 64);
  const ref<storage> place = kiln::cuda::new_storage(4);
  void* arguments[] = {&place->data};
  const kiln::cuda::stream where = current_stream(Cuda{0});
  CHECK_NOTHROW(kernel.launch({.block_x = 64}, where, arguments));
  CHECK_THROWS_WITH_AS(kernel.launch({.block_x = 65}, where, arguments),
                       doctest::Contains("launch of bounded with 1x1x1 blocks of 65x1x1 threads, 0 bytes of shared "
                                         "memory each (it takes at most 64 threads a block, of "),
                       kiln::device_error);
  const loaded_module others(Cuda{0}, image().data());
  device.set("registers", 255);
  CHECK_NOTHROW(others.function("add").launch({.block_x = 256}, where, add_arguments(place).data()));
  CHECK_THROWS_WITH_AS(others.function("add").launch({.block_x = 512}, where, add_arguments(place).data()),
                       doctest::Contains("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"), kiln::device_error);
}

TEST_CASE("a module ends in the context of its device, whichever is current") {
  if (emulate::lacks_second_device()) return;
  const auto& device = emulate::stand_in();
  kiln::cuda::driver().context_set_current(kiln::cuda::context_of(Cuda{0}));
  { const loaded_module code(Cuda{1}, image().data()); }
  if (device.emulated()) CHECK(device.count("cuModuleUnload") == 1);
  if (device.emulated()) CHECK(device.wrong_contexts() == 0);
}
