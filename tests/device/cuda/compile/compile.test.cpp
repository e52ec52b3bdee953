// SPDX-License-Identifier: BSL-1.0
// NVRTC behind the cache: machine code without a GPU, compiled once.
#include <kiln/device/cuda/compile/compile.hpp>

#include <kiln/device/cuda/driver/driver_module.hpp>

#include "device/cuda/cache_folder.hpp"

#include <doctest/doctest.h>

#include <string>
#include <tuple>

using namespace kiln;

namespace {
constexpr const char* doubling = R"(#include <kernels/map.cuh>
extern "C" __global__ void twice(float* y, const float* x, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] + kiln::kernels::tanh(x[i]);
}
)";
const cuda::nvrtc_functions* compiler() {
  const cuda::nvrtc_functions* found = cuda::find_nvrtc();
  if (!found) MESSAGE("SKIPPED: no libnvrtc can be opened here");
  return found;
}
}  // namespace

TEST_CASE("compile: a kernel becomes machine code once; another process finds it on disk") {
  const cuda::nvrtc_functions* nvrtc = compiler();
  if (!nvrtc) return;
  const cuda_cache_test::folder here;
  const auto request = cuda::request_for({doubling, "twice", {}}, 90, *nvrtc);
  CHECK(request.compiler.find("NVRTC 1") == 0);
  cuda::compile_cache first({here.path(), 1 << 24, {}}), second({here.path(), 1 << 24, {}});
  const cuda::kernel_image image = first.get(request, cuda::compile_with(*nvrtc));
  CHECK(image->substr(1, 3) == "ELF");
  CHECK(*second.get(request, cuda::compile_with(*nvrtc)) == *image);
  CHECK(second.counts().compiled == 0);
}

TEST_CASE("compile: a mistake comes back with NVRTC's words and the numbered text") {
  const cuda::nvrtc_functions* nvrtc = compiler();
  if (!nvrtc) return;
  cuda::compile_cache cache({{}, 0, {}});
  try {
    cache.get(cuda::request_for({"\nint f() { return nonsense; }\n", "wrong", {}}, 90, *nvrtc),
              cuda::compile_with(*nvrtc));
    FAIL("no error");
  } catch (const device_error& e) {
    const std::string what = e.what();
    CHECK(what.find("wrong.cu(2): error") != std::string::npos);
    CHECK(what.find("   2  int f() { return nonsense; }") != std::string::npos);
  }
}

TEST_CASE("compile: an architecture that NVRTC does not know is an error that lists those it does") {
  const cuda::nvrtc_functions* nvrtc = compiler();
  if (!nvrtc) return;
  cuda::compile_cache cache({{}, 0, {}});
  try {
    cache.get(cuda::request_for({doubling, "twice", {}}, 35, *nvrtc), cuda::compile_with(*nvrtc));
    FAIL("no error");
  } catch (const device_error& e) {
    CHECK(std::string(e.what()).find("has no code for sm_35, only for sm_ ") != std::string::npos);
    CHECK(std::string(e.what()).find("90") != std::string::npos);
  }
}

TEST_CASE("compile: for an architecture that is newer than NVRTC it makes PTX of the newest that it knows") {
  const cuda::nvrtc_functions* nvrtc = compiler();
  if (!nvrtc) return;
  cuda::nvrtc_functions old = *nvrtc;
  old.get_num_supported_archs = [](int* count) { return *count = 2, cuda::nvrtc_result::success; };
  old.get_supported_archs = [](int* all) { return all[0] = 80, all[1] = 90, cuda::nvrtc_result::success; };
  const auto compile = cuda::compile_with(old);
  const auto ptx = compile(cuda::request_for({doubling, "twice", {}}, 100, old));
  REQUIRE_MESSAGE(ptx.good, ptx.log);
  CHECK(ptx.image.find(".target sm_90") != std::string::npos);
  CHECK(ptx.image.find(".entry twice") != std::string::npos);
  CHECK(ptx.image.back() == 0);  // as the driver wants it
  CHECK_NOTHROW(cuda::check_image(ptx.image));
  CHECK(compile(cuda::request_for({doubling, "twice", {}}, 89, old)).image.find(".target sm_80") != std::string::npos);
  CHECK(compile(cuda::request_for({doubling, "twice", {}}, 90, old)).image.substr(1, 3) == "ELF");
  // A bundle holds machine code for what was asked, or is not made.
  CHECK_THROWS_WITH_AS(cuda::detail::compile_text(old, cuda::request_for({doubling, "twice", {}}, 100, old), "sm_"),
                       doctest::Contains("has no code for sm_100"), device_error);
}

TEST_CASE("compile: an option that came with 12.4 is not asked of an older NVRTC") {
  cuda::nvrtc_functions some;
  for (const auto& [major, minor, known] : {std::tuple{12, 0, false}, {12, 3, false}, {12, 4, true}, {13, 0, true}}) {
    some.major = major;
    some.minor = minor;
    const std::string options = cuda::request_for({doubling, "twice", {}}, 90, some).options;
    CHECK((options.find("--minimal") != std::string::npos) == known);
    CHECK(options.find("-std=c++20") != std::string::npos);
  }
}
