// SPDX-License-Identifier: BSL-1.0
// Ranges for profilers: with KILN_NVTX=1 each evaluation stands in Nsight's time line under its formula. NVIDIA's
// library for that is opened when the first range begins; without the variable nothing is opened and nothing is called.
#pragma once

#include <array>
#include <string>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/library.hpp>

namespace kiln::cuda {

namespace detail {

inline constexpr std::array nvtx_files{"libnvtx3interop.so.1", "libnvtx3interop.so", "libnvToolsExt.so.1"};
inline constexpr std::array nvtx_wheels{"nvidia/cu13/lib", "nvidia/nvtx/lib"};
inline constexpr library_description nvtx_library{
    "NVTX", "KILN_LIBNVTX", nvtx_files, nvtx_wheels,
    "install it with CUDA's toolkit, or with `pip install nvidia-nvtx`, or unset KILN_NVTX"};

/// The functions of NVTX that kiln calls.
struct nvtx_functions {
  int (*push)(const char* name);  ///< begins a range within the thread's last one
  int (*pop)();                   ///< ends it
  library file;
};

// Null unless KILN_NVTX=1. Throws device_error if that is set and the library is not there.
const nvtx_functions* profiler();

}  // namespace detail

/// Whether work is shown to profilers: KILN_NVTX=1.
bool profiling();

/// A range of the thread's time under a name, until the end of the scope; nothing if the name is empty.
class profiler_range {
 public:
  explicit profiler_range(const std::string& name) : api_(name.empty() ? nullptr : detail::profiler()) {
    if (api_ != nullptr) api_->push(name.c_str());
  }
  profiler_range(const profiler_range&) = delete;
  profiler_range& operator=(const profiler_range&) = delete;
  ~profiler_range() {
    if (api_ != nullptr) api_->pop();
  }

 private:
  const detail::nvtx_functions* api_;
};

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/ranges_impl.hpp>
#endif
