// SPDX-License-Identifier: BSL-1.0
// cuBLASLt and cuDNN: where they are found. Their functions are declared by the headers that call them.
#pragma once

#include <array>
#include <string>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/driver.hpp>
#include <kiln/device/cuda/driver/library.hpp>

namespace kiln::cuda {

namespace detail {

inline constexpr std::array cublaslt_files_13{"libcublasLt.so.13", "libcublasLt.so.12"};
inline constexpr std::array cublaslt_files_12{"libcublasLt.so.12"};
inline constexpr std::array cudnn_files{"libcudnn.so.9"};
inline constexpr std::array cublas_wheels{"nvidia/cu13/lib", "nvidia/cublas/lib"};
inline constexpr std::array cudnn_wheels{"nvidia/cudnn/lib"};
inline constexpr const char* install_cublas =
    "install CUDA's toolkit 12 or 13, not newer than the driver, or `pip install nvidia-cublas`";
inline constexpr const char* install_cudnn = "install cuDNN 9, or `pip install nvidia-cudnn-cu13`";

// These carry kernels for the driver's own major version or an older one; a newer one cannot start on it.
bool newest_allowed(int driver_version);

// The outcome of the first attempt, kept.
class opened_library {
 public:
  explicit opened_library(const library_description& wanted) {
    try {
      file_ = open_library(wanted);
    } catch (const device_error& caught) {
      reason_ = caught.what();
    }
  }
  const library& get() const {
    if (!reason_.empty()) throw device_error(reason_);
    return file_;
  }

 private:
  library file_;
  std::string reason_;
};

int driver_version_or_zero();

}  // namespace detail

/// What to look for as cuBLASLt beside a driver of this version (0 without one).
library_description cublaslt_library(int driver_version);
/// What to look for as cuDNN.
library_description cudnn_library();

/// cuBLASLt, opened at the first call. Throws device_error if there is none.
inline const library& cublaslt() {
  static const detail::opened_library& opened =
      *new detail::opened_library(cublaslt_library(detail::driver_version_or_zero()));
  return opened.get();
}
/// cuDNN, opened at the first call. Throws device_error if there is none.
inline const library& cudnn() {
  static const detail::opened_library& opened = *new detail::opened_library(cudnn_library());
  return opened.get();
}

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/library_products_impl.hpp>
#endif
