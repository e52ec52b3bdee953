// SPDX-License-Identifier: BSL-1.0
// NVRTC, the compiler that turns CUDA text into machine code at run time, opened at the first use.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/driver.hpp>
#include <kiln/device/cuda/driver/library.hpp>

namespace kiln::cuda {

struct nvrtc_program_object;
using nvrtc_program = nvrtc_program_object*;

enum class nvrtc_result : int { success = 0, out_of_memory = 1, invalid_option = 5, compilation = 6 };

/// The functions of NVRTC that kiln calls.
struct nvrtc_functions {
  const char* (*get_error_string)(nvrtc_result);
  nvrtc_result (*version)(int* major, int* minor);
  nvrtc_result (*get_num_supported_archs)(int*);
  nvrtc_result (*get_supported_archs)(int*);
  nvrtc_result (*create_program)(nvrtc_program*, const char* text, const char* name, int headers,
                                 const char* const* header_texts, const char* const* header_names);
  nvrtc_result (*destroy_program)(nvrtc_program*);
  nvrtc_result (*compile_program)(nvrtc_program, int options, const char* const* option_texts);
  nvrtc_result (*get_program_log_size)(nvrtc_program, std::size_t*);
  nvrtc_result (*get_program_log)(nvrtc_program, char*);
  nvrtc_result (*get_ptx_size)(nvrtc_program, std::size_t*);
  nvrtc_result (*get_ptx)(nvrtc_program, char*);
  nvrtc_result (*get_cubin_size)(nvrtc_program, std::size_t*);
  nvrtc_result (*get_cubin)(nvrtc_program, char*);

  library file;              ///< where all of these are from
  int major = 0, minor = 0;  ///< its version
};

namespace detail {

inline constexpr std::array nvrtc_files_13{"libnvrtc.so.13", "libnvrtc.so.12"};
inline constexpr std::array nvrtc_files_12{"libnvrtc.so.12", "libnvrtc.so.13"};
inline constexpr std::array nvrtc_wheels{"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

// A driver may not load what a compiler of a newer major version made, so that of its own version comes first. Without
// a driver, as when a bundle is made for other machines, the newest does.
library_description nvrtc_library(int driver_version);

}  // namespace detail

/// Opens NVRTC anew for a driver of this version (0 if there is none). Throws device_error.
std::unique_ptr<nvrtc_functions> open_nvrtc(int driver_version);

namespace detail {

struct opened_nvrtc {
  std::unique_ptr<nvrtc_functions> functions;  // or null, and why:
  std::string reason;
  opened_nvrtc() {
    try {
      const driver_functions* const device = find_driver();
      functions = open_nvrtc(device == nullptr ? 0 : device->version);
    } catch (const device_error& caught) {
      reason = caught.what();
    }
  }
  static const opened_nvrtc& instance() {
    static const opened_nvrtc& opened = *new opened_nvrtc;
    return opened;
  }
};

}  // namespace detail

/// NVRTC, or null if this machine has none that can be used. Works without a driver.
inline const nvrtc_functions* find_nvrtc() {
  return detail::opened_nvrtc::instance().functions.get();
}

/// NVRTC. Throws device_error that says where it was looked for and what to install.
inline const nvrtc_functions& nvrtc() {
  const auto& opened = detail::opened_nvrtc::instance();
  if (opened.functions == nullptr) throw device_error(opened.reason);
  return *opened.functions;
}

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/nvrtc_impl.hpp>
#endif
