// SPDX-License-Identifier: BSL-1.0
// Sources become a bundle whose kernels run; the mode in which a program writes its own says what is wrong.
#include <kiln/device/cuda/compile/bundle_write.hpp>

#include "device/cuda/cache_folder.hpp"

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

using namespace kiln;

namespace {

std::vector<cuda::source> random_kernels() {
  std::vector<cuda::source> all;
  for (int k = 0; k < dtype_count; ++k)
    all.push_back(cuda::print_random(cuda::random_kind::integers, static_cast<dtype>(k)));
  return all;
}

}  // namespace

TEST_CASE("bundle_write: every kernel is found again, several in one image, for each architecture") {
  const auto& device = emulate::stand_in();
  const long before = device.emulated() ? device.compiled() : 0;
  const auto sources = random_kernels();
  const cuda_cache_test::folder folder;
  const std::string path = folder.path() / "bundle";
  cuda::write_bundle(path, cuda::compile_bundle(sources, {80, 90}, cuda::nvrtc()));
  if (device.emulated()) CHECK(device.compiled() == before + 4);
  CHECK(folder.files(".part") == 0);
  const cuda::bundle read(*cuda::detail::file_part::whole(path));
  CHECK(read.size() == 20);
  CHECK(read.architectures() == std::vector<int>{80, 90});
  for (const cuda::source& s : sources)
    for (const int architecture : {80, 90}) {
      const cuda::kernel_image image = read.find(cuda::bundle_key(s.text, architecture));
      REQUIRE(image != nullptr);
      CHECK(image->find(s.name) != std::string::npos);
    }
  CHECK(read.find(cuda::bundle_key(sources[0].text, 80)) == read.find(cuda::bundle_key(sources[7].text, 80)));
  CHECK(read.find(cuda::bundle_key(sources[0].text, 80)) != read.find(cuda::bundle_key(sources[8].text, 80)));
}

TEST_CASE("bundle_write: a kernel of clusters is left out for architectures that have none") {
  emulate::stand_in();
  const std::vector<cuda::source> sources{
      {"extern \"C\" __global__ void __cluster_dims__(2, 1, 1) pair(int* x) { *x = 1; }", "pair", {}, 256, 0, 2}};
  const cuda_cache_test::folder folder;
  const std::string path = folder.path() / "bundle";
  cuda::write_bundle(path, cuda::compile_bundle(sources, {80, 90}, cuda::nvrtc()));
  CHECK(cuda::bundle(*cuda::detail::file_part::whole(path)).architectures() == std::vector<int>{90});
}

TEST_CASE("bundle_write: what does not compile ends it, with the compiler's words and the text") {
  emulate::stand_in();
  auto sources = random_kernels();
  sources[3].text = "this is no kernel\n";
  CHECK_THROWS_WITH_AS(cuda::compile_bundle(sources, {90}, cuda::nvrtc()), doctest::Contains("this is no kernel"),
                       device_error);
  CHECK_THROWS_WITH_AS(cuda::compile_bundle(random_kernels(), {91}, cuda::nvrtc()), doctest::Contains("sm_91"),
                       device_error);
}

TEST_CASE("bundle_write: a list of architectures is numbers with commas") {
  CHECK(cuda::architectures_in("90") == std::vector<int>{90});
  CHECK(cuda::architectures_in("80,90,100") == std::vector<int>{80, 90, 100});
  for (const char* wrong : {"", ",", "90,", ",90", "90 80", "sm_90", "90;80", "99999", "-9"})
    CHECK_THROWS_WITH_AS(cuda::architectures_in(wrong), doctest::Contains("list of architectures"), value_error);
}

TEST_CASE("bundle_write: nothing is written unless it is asked for, and faults end the program with an error") {
  emulate::stand_in();
  int status = 7;
  ::unsetenv("KILN_BUNDLE_WRITE");
  CHECK_FALSE(cuda::write_bundle_if_asked(status));
  CHECK(status == 7);
  ::setenv("KILN_BUNDLE_WRITE", "/nowhere/bundle", 1);
  ::setenv("KILN_BUNDLE_ARCHS", "none", 1);
  CHECK(cuda::write_bundle_if_asked(status));
  CHECK(status == 1);
  CHECK_THROWS_WITH_AS(cuda::write_bundle("/nowhere/bundle", "bytes"), doctest::Contains("/nowhere/bundle"),
                       device_error);
  ::unsetenv("KILN_BUNDLE_WRITE");
  ::unsetenv("KILN_BUNDLE_ARCHS");
}
