// SPDX-License-Identifier: BSL-1.0
// The definitions of library_products.hpp.
#pragma once

#include <kiln/device/cuda/libraries/library_products.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE bool newest_allowed(int driver_version) {
  return driver_version == 0 || driver_version >= 13000;
}

KILN_INLINE int driver_version_or_zero() {
  const driver_functions* const device = find_driver();
  return device == nullptr ? 0 : device->version;
}

}  // namespace detail

KILN_INLINE library_description cublaslt_library(int driver_version) {
  using span = std::span<const char* const>;
  return {"cuBLASLt", "KILN_LIBCUBLASLT",
          detail::newest_allowed(driver_version) ? span(detail::cublaslt_files_13) : span(detail::cublaslt_files_12),
          detail::cublas_wheels, detail::install_cublas};
}

KILN_INLINE library_description cudnn_library() {
  return {"cuDNN", "KILN_LIBCUDNN", detail::cudnn_files, detail::cudnn_wheels, detail::install_cudnn};
}

}  // namespace kiln::cuda
