// SPDX-License-Identifier: BSL-1.0
// An NVRTC in a toolkit's folder of which the system's loader knows nothing compiles all the same: it opens its
// built-in functions by name, which are in that folder. The program runs itself anew without the loader's cache.
#include "device/cuda/nvrtc/nvrtc_compile.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

namespace {

/// The program interpreter (ld.so) of this process.
std::string loader() {
  void* const self = ::dlopen(nullptr, RTLD_NOW);
  const ::link_map* loaded = nullptr;
  if (::dlinfo(self, RTLD_DI_LINKMAP, &loaded) != 0) return {};
  for (; loaded != nullptr; loaded = loaded->l_next)
    if (std::string(loaded->l_name).find("/ld-linux") != std::string::npos) return loaded->l_name;
  return {};
}

}  // namespace

TEST_CASE("nvrtc: compiles one kernel" * doctest::skip()) {
  const auto& nvrtc = nvrtc_test::library::instance();
  REQUIRE(nvrtc.available());
  nvrtc.check_compiles("extern \"C\" __global__ void f(float* x) { x[threadIdx.x] = __expf(x[threadIdx.x]); }", {90});
}

TEST_CASE("nvrtc: its built-in functions are found beside it, where the loader does not know the folder") {
  if (!nvrtc_test::library::instance().available()) return;
  for (const char* sanitizer : {"__asan_init", "__tsan_init"}) {
    if (::dlsym(RTLD_DEFAULT, sanitizer) == nullptr) continue;
    MESSAGE("SKIPPED: a program with a sanitizer is not run by the loader's own command");
    return;
  }
  namespace fs = std::filesystem;
  const fs::path from = fs::path(kiln::cuda::nvrtc().file.path()).parent_path(),
                 root = fs::temp_directory_path() / ("kiln_toolkit_" + std::to_string(std::random_device()())),
                 to = root / "lib64";
  fs::create_directories(to);
  for (const fs::path& file : fs::directory_iterator(from))
    if (file.filename().string().starts_with("libnvrtc")) fs::create_symlink(file, to / file.filename());
  const std::string command = "env -u LD_LIBRARY_PATH -u KILN_LIBNVRTC -u VIRTUAL_ENV CUDA_HOME='" + root.string() +
                              "' KILN_TEST_NVRTC='" + to.string() + "' '" + loader() + "' --inhibit-cache '" +
                              fs::read_symlink("/proc/self/exe").string() +
                              "' --no-skip --test-case='nvrtc: compiles one kernel' 2>&1";
  REQUIRE_FALSE(loader().empty());
  const int status = std::system(command.c_str());
  fs::remove_all(root);
  CHECK(status == 0);
}
