// SPDX-License-Identifier: BSL-1.0
// The definitions of nvrtc.hpp.
#pragma once

#include <kiln/device/cuda/compile/nvrtc.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE library_description nvrtc_library(int driver_version) {
  const bool old = driver_version != 0 && driver_version < 13000;
  return {
      "NVRTC", "KILN_LIBNVRTC", old ? nvrtc_files_12 : nvrtc_files_13, nvrtc_wheels,
      "install it with CUDA's toolkit 12 or 13, or into the Python environment with `pip install nvidia-cuda-nvrtc`",
      "libnvrtc-builtins.so.*"};
}

}  // namespace detail

KILN_INLINE std::unique_ptr<nvrtc_functions> open_nvrtc(int driver_version) {
  auto api = std::make_unique<nvrtc_functions>();
  api->file = open_library(detail::nvrtc_library(driver_version));
  const library& from = api->file;
  from.get(api->get_error_string, "nvrtcGetErrorString");
  from.get(api->version, "nvrtcVersion");
  from.get(api->get_num_supported_archs, "nvrtcGetNumSupportedArchs");
  from.get(api->get_supported_archs, "nvrtcGetSupportedArchs");
  from.get(api->create_program, "nvrtcCreateProgram");
  from.get(api->destroy_program, "nvrtcDestroyProgram");
  from.get(api->compile_program, "nvrtcCompileProgram");
  from.get(api->get_program_log_size, "nvrtcGetProgramLogSize");
  from.get(api->get_program_log, "nvrtcGetProgramLog");
  from.get(api->get_ptx_size, "nvrtcGetPTXSize");
  from.get(api->get_ptx, "nvrtcGetPTX");
  from.get(api->get_cubin_size, "nvrtcGetCUBINSize");
  from.get(api->get_cubin, "nvrtcGetCUBIN");
  if (api->version(&api->major, &api->minor) != nvrtc_result::success || api->major < 12) {
    throw device_error(message("NVRTC: ", from.path(), " has version ", api->major, '.', api->minor,
                               ", kiln needs 12.0 or newer; update CUDA's toolkit"));
  }
  return api;
}

}  // namespace kiln::cuda
