// SPDX-License-Identifier: BSL-1.0
// For tests of device/cuda: puts the stand-in for libcuda, libnvrtc and libcublasLt in their places, before kiln opens
// them.
//
//   const auto& device = emulate::stand_in();        // first thing in a test case
//   device.set("fail_launch", 1);                    // the next launch fails
//   CHECK(device.count("cuStreamSynchronize") == 0);
//
// With KILN_TEST_ON_GPU=1 the same tests run on the machine's own driver and GPU. What only the stand-in knows or does
// stands behind device.emulated() or skip_on_gpu(), which say that they leave something out:
//
//   if (emulate::skip_on_gpu("it lets launches fail")) return;      // a whole case
//   if (device.emulated()) CHECK(device.count("cuMemAlloc_v2") == 1);  // a check
#pragma once

#include <kiln/device/cuda/driver/device.hpp>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "fiber.hpp"
#include "host_compiler.hpp"

#include <doctest/doctest.h>

namespace emulate {

/// Whether tests run on a GPU and its driver: KILN_TEST_ON_GPU=1.
inline bool on_gpu() {
  const char* const value = std::getenv("KILN_TEST_ON_GPU");
  return value != nullptr && std::string(value) == "1";
}

/// The stand-in, loaded; or, on a GPU, nothing: then each of its functions but emulated() and reset() throws.
class stand_in_library {
 public:
  stand_in_library() = default;
  explicit stand_in_library(const std::string& path) : path_(path) {
    void* const handle = handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(std::string("the stand-in cannot be loaded: ") + ::dlerror());
    set_ = reinterpret_cast<void (*)(const char*, long long)>(::dlsym(handle, "kiln_stand_in_set"));
    get_ = reinterpret_cast<long long (*)(const char*)>(::dlsym(handle, "kiln_stand_in_get"));
    report_ = reinterpret_cast<const char* (*)()>(::dlsym(handle, "kiln_stand_in_report"));
    compiled_ = reinterpret_cast<long (*)()>(::dlsym(handle, "kiln_stand_in_compiled"));
    compiled_at_once_ = reinterpret_cast<long (*)()>(::dlsym(handle, "kiln_stand_in_compiled_at_once"));
  }
  /// False on a GPU; the first time in each test case it says that checks are left out.
  bool emulated() const {
    if (set_ != nullptr) return true;
    if (!std::exchange(said_, true)) MESSAGE("SKIPPED on the GPU: checks of what only the stand-in knows");
    return false;
  }
  /// Settings and faults: see kiln_stand_in_set in stand_in_driver.cpp.
  void set(const char* name, long long value) const { needed(set_)(name, value); }
  /// Ends all faults and errors, counts from 0 again.
  void reset() const {
    if (set_ != nullptr) set_("reset", 0);
  }
  /// How often a function of the driver or of cuBLASLt was called since the last reset.
  /// It must be a name under which one is called (cuMemAlloc_v2): another one would never be counted.
  long long count(const char* function) const {
    const auto get = needed(get_);
    if (::dlsym(handle_, function) == nullptr)
      throw std::logic_error(std::string("the stand-in has no function ") + function);
    return get(function);
  }
  /// Calls for which the context of their handle was not the current one.
  long long wrong_contexts() const { return needed(get_)("wrong_context"); }
  /// Blocks launched since the last reset.
  long long blocks() const { return needed(get_)("blocks"); }
  /// Bytes of device memory in use, over all devices.
  long long memory() const { return needed(get_)("memory"); }
  /// What the emulator said of the last kernel that failed.
  std::string report() const { return needed(report_)(); }
  /// How many texts NVRTC compiled.
  long compiled() const { return needed(compiled_)(); }
  /// The most texts that it compiled at the same time since the last call.
  long compiled_at_once() const { return needed(compiled_at_once_)(); }
  const std::string& path() const { return path_; }
  /// A new test case begins.
  void begin() const {
    said_ = false;
    reset();
  }

 private:
  template <class Function>
  static Function needed(Function known) {
    if (known == nullptr)
      throw std::logic_error("only the stand-in has this: ask device.emulated() or skip_on_gpu() first");
    return known;
  }

  std::string path_;
  void* handle_ = nullptr;
  mutable bool said_ = false;
  void (*set_)(const char*, long long) = nullptr;
  long long (*get_)(const char*) = nullptr;
  const char* (*report_)() = nullptr;
  long (*compiled_)() = nullptr, (*compiled_at_once_)() = nullptr;
};

namespace detail {

// The build names the file in KILN_CUDA_STAND_IN; a test run by hand makes it, once for each state of the sources.
inline std::string stand_in_path() {
  if (const char* built = std::getenv("KILN_CUDA_STAND_IN"); built != nullptr && *built != 0) return built;
  const std::string folder = folder_of_emulator();
  std::string sources = folder;  // it keeps where it was made
  for (const char* name : {"stand_in_driver.cpp",
                           "stand_in_nvrtc.cpp",
                           "stand_in_cublaslt.cpp",
                           "stand_in_state.hpp",
                           "fake_driver/declared_shared.hpp",
                           "fake_driver/limits.hpp",
                           "module.hpp",
                           "host_compiler.hpp",
                           "object_cache.hpp",
                           "collected_texts.hpp",
                           "block.hpp",
                           "resident.hpp",
                           "block_races.hpp",
                           "threads.hpp",
                           "races.hpp",
                           "fiber.hpp",
                           "watch.hpp",
                           "interface.hpp",
                           "stand_in_cudnn.cpp",
                           "stand_in_cudnn.hpp",
                           "stand_in_cudnn_backend.cpp",
                           "stand_in_cudnn_graph.hpp",
                           "stand_in_cudnn_batch_norm.cpp",
                           "stand_in_elements.hpp",
                           "../../include/kiln/device/cuda/cudnn/backend.hpp",
                           "../../include/kiln/device/cuda/libraries/cublaslt.hpp",
                           "../../include/kiln/device/cuda/libraries/cudnn.hpp"})
    sources += read_file(folder + name);
  const std::string path = "/tmp/kiln_stand_in_" + std::to_string(::getuid()) + "_" +
                           std::to_string(std::hash<std::string>{}(sources)) + (KILN_EMULATOR_ASAN ? "_asan" : "") +
                           ".so";
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) return path;
  const std::string part = path + "." + std::to_string(::getpid());
  const std::string command = host_compiler() + " -std=c++20 -O1 -fPIC -shared -fvisibility=hidden -I '" + folder +
                              "../../include' " + (KILN_EMULATOR_ASAN ? "-fsanitize=address " : "") + "'" + folder +
                              "stand_in_driver.cpp' '" + folder + "stand_in_nvrtc.cpp' '" + folder +
                              "stand_in_cublaslt.cpp' '" + folder + "stand_in_cudnn.cpp' '" + folder +
                              "stand_in_cudnn_backend.cpp' '" + folder + "stand_in_cudnn_batch_norm.cpp' -o '" + part +
                              "' -ldl && mv '" + part + "' '" + path + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("the stand-in does not compile");
  return path;
}

}  // namespace detail

/// The stand-in in place of libcuda, libnvrtc, libcublasLt and libcudnn, without faults and with all counts at 0; on a
/// GPU the libraries stay what they are.
inline const stand_in_library& stand_in() {
  static const stand_in_library& library =
      *(on_gpu() ? new stand_in_library : new stand_in_library(detail::stand_in_path()));
  if (!on_gpu()) {
    ::setenv("KILN_LIBCUDA", library.path().c_str(), 1);
    ::setenv("KILN_LIBNVRTC", library.path().c_str(), 1);
    ::setenv("KILN_LIBCUBLASLT", library.path().c_str(), 1);
    ::setenv("KILN_LIBCUDNN", library.path().c_str(), 1);
    // What it compiles is nothing for a disk cache that a real device would read.
    ::setenv("KILN_CACHE", "0", 0);
  }
  library.begin();
  return library;
}

/// True on a GPU, where a test case cannot run; says so, and why: "it lets launches fail".
inline bool skip_on_gpu(const char* why) {
  if (on_gpu()) MESSAGE("SKIPPED on the GPU: ", std::string(why));
  return on_gpu();
}

/// True if there is one GPU only, and says so: what needs a second one is left out.
inline bool lacks_second_device() {
  if (!on_gpu()) return false;
  const bool lacks = kiln::cuda_device_count() < 2;
  if (lacks) MESSAGE("SKIPPED: this machine has no second GPU");
  return lacks;
}

}  // namespace emulate
