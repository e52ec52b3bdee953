// SPDX-License-Identifier: BSL-1.0
// Loaded kernels are shared by all that ask for one text, and what cannot be loaded is asked for again.
#include <kiln/device/cuda/run/kernels.hpp>

#include <kiln/device/cuda/plan/schedule.hpp>

#include <cuda_emulator/stand_in.hpp>

#include "device/cuda/cache_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>

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
  const long before = device.emulated() ? device.compiled() : 0;
  const auto one = cuda::kernel_of(launches_of(dtype::float32, 64)[0], {});
  CHECK(cuda::kernel_of(launches_of(dtype::float32, 128)[0], {}) == one);
  if (device.emulated()) CHECK(device.compiled() <= before + 1);
  CHECK(cuda::kernel_of(launches_of(dtype::float64, 64)[0], {}) != one);
  if (!emulate::lacks_second_device()) CHECK(cuda::kernel_of(launches_of(dtype::float32, 64)[0], Cuda{1}) != one);
  CHECK(one->parameters.size() == 3);
  // One load for each device and type.
  if (device.emulated()) CHECK(device.count("cuModuleLoadData") == 3);
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

TEST_CASE("kernels: a bundle has the kernel, or has not, or has code that this driver does not load") {
  const auto& device = emulate::stand_in();
  const cuda::launch what = launches_of(dtype::float32, 64)[0];
  const cuda::source printed = print_kernel(what);
  const int architecture = cuda::properties({}).architecture;
  const auto good = cuda::process_cache().get(cuda::request_for(printed, architecture, cuda::nvrtc()),
                                              cuda::compile_with(cuda::nvrtc()));
  const cuda::cache_key key = cuda::bundle_key(printed.text, architecture);
  const auto list_with = [](const std::vector<cuda::bundle_part>& parts) {
    static const cuda_cache_test::folder& folder = *new cuda_cache_test::folder;
    static int number = 0;
    const std::string path = folder.path() / std::to_string(++number);
    std::ofstream(path, std::ios::binary) << cuda::bundle_bytes(parts);
    auto list = std::make_unique<cuda::bundle_list>();
    list->add(*cuda::detail::file_part::whole(path));
    return list;
  };
  const auto full = list_with({{architecture, {key}, *good}}), none = list_with({}),
             wrong = list_with({{architecture, {key}, "no code"}});
  const long before = device.emulated() ? device.compiled() : 0;
  const auto loaded = cuda::bundled_kernel("from a bundle", printed, {}, *full);
  REQUIRE(loaded != nullptr);
  CHECK(loaded->parameters.size() == 3);
  // Another kernel of the same image takes no other load.
  const long long loads = device.emulated() ? device.count("cuModuleLoadData") : 0;
  CHECK(cuda::bundled_kernel("the same again", printed, {}, *full) != nullptr);
  if (device.emulated()) CHECK(device.count("cuModuleLoadData") == loads);
  CHECK(cuda::bundled_kernel("not there", printed, {}, *none) == nullptr);
  CHECK(cuda::bundled_kernel("not loadable", printed, {}, *wrong) == nullptr);
  CHECK(wrong->state().find("loading a kernel") != std::string::npos);
  if (device.emulated()) CHECK(device.compiled() == before);
}

TEST_CASE("kernels: where a bundle is required, nothing is compiled, and the error names kernel, bundle and way out") {
  const auto& device = emulate::stand_in();
  ::setenv("KILN_REQUIRE_BUNDLE", "1", 1);
  const long before = device.emulated() ? device.compiled() : 0;
  const cuda::launch what = launches_of(dtype::float64, 64)[0];
  for (const char* part :
       {"one of kiln's own kernels (kiln_map_", "this program has no bundle", "), or unset KILN_REQUIRE_BUNDLE"})
    CHECK_THROWS_WITH_AS(cuda::load_kernel("required", print_kernel(what), {}), doctest::Contains(part),
                         device_error);
  ::unsetenv("KILN_REQUIRE_BUNDLE");
  if (device.emulated()) CHECK(device.compiled() == before);
}

TEST_CASE("kernels: what lies in the cache under a good checksum and is no code is compiled anew") {
  const auto& device = emulate::stand_in();
  const cuda_cache_test::folder here;
  const cuda::launch what = launches_of(dtype::float64, 64)[0];
  const cuda::source printed = print_kernel(what);
  const cuda::compile_request request = cuda::request_for(printed, cuda::properties({}).architecture, cuda::nvrtc());
  const cuda::disk_cache disk({here.path(), std::uint64_t{1} << 30, {}});
  const auto compile = cuda::compile_with(cuda::nvrtc());
  for (const bool cut : {false, true}) {
    const std::string good = compile(request).image;
    REQUIRE(disk.write(cuda::key_of(request), cut ? good.substr(0, good.size() / 2) : std::string(100, 'x')));
    cuda::compile_cache cache({here.path(), std::uint64_t{1} << 30, {}});
    const long before = device.emulated() ? device.compiled() : 0;
    const std::string key = cut ? "cut" : "bad";
    CHECK(cuda::load_kernel(key, printed, {}, cache)->parameters.size() == 3);
    if (device.emulated()) CHECK(device.compiled() == before + 1);
    const auto kept = disk.read(cuda::key_of(request));
    REQUIRE(kept);
    CHECK_NOTHROW(cuda::check_image(*kept));
    CHECK(kept->size() > good.size() / 2);
  }
}
