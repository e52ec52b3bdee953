// SPDX-License-Identifier: BSL-1.0
// Looks up every function that kiln calls in NVIDIA's real libraries, and those of libcuda in the toolkit's stub of it,
// which needs no GPU: symbols libcuda|nvrtc|cublaslt|cudnn|nccl. Exits 77 where the library is not.
#include <kiln/device/cuda/compile/nvrtc.hpp>
#include <kiln/device/cuda/cudnn/backend.hpp>
#include <kiln/device/cuda/driver/driver.hpp>
#include <kiln/device/cuda/libraries/cublaslt.hpp>
#include <kiln/device/cuda/libraries/cudnn.hpp>
#include <kiln/distributed/nccl.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace kiln::cuda;

namespace {

// A file of the toolkit for linking: it has the names, and no driver behind them.
constexpr std::array stub_files{"stubs/libcuda.so", "libcuda.so.1"};
constexpr library_description stub{"CUDA driver", "KILN_LIBCUDA", stub_files, {}, "install CUDA's toolkit"};

void say(const kiln::cuda::library& file, auto version) {
  std::printf("%s, version %lld: every function is there\n", file.path().c_str(), static_cast<long long>(version));
}

int look_up(const std::string& which) {
  kiln::cuda::library file;
  try {
    file = open_library(which == "libcuda"    ? stub
                        : which == "nvrtc"    ? detail::nvrtc_library(0)
                        : which == "cublaslt" ? cublaslt_library(0)
                        : which == "cudnn"    ? cudnn_library()
                                              : kiln::distributed::nccl_library());
  } catch (const kiln::device_error& missing) {
    std::printf("SKIPPED: %s\n", missing.what());
    return 77;
  }
  if (which == "libcuda") {
    driver_functions api{};
    api.file = file;
    detail::resolve(api);
    say(file, 0);
    if (api.function_get_parameter == nullptr) std::printf("but cuFuncGetParamInfo, which came with CUDA 12.4\n");
  } else if (which == "nvrtc") {
    const auto api = open_nvrtc(0);
    say(api->file, 1000 * api->major + 10 * api->minor);
  } else if (which == "cublaslt") {
    say(file, open_cublaslt(file)->version);
  } else if (which == "cudnn") {
    const auto api = open_cudnn(file);
    say(file, api->version);
    if (!open_cudnn_backend(file).complete) throw kiln::device_error("a function of the backend API is missing");
    if (api->batch_norm_training == nullptr) std::printf("but the deprecated batch norms, which may be missing\n");
  } else {
    say(file, kiln::distributed::open_nccl(file)->version);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  try {
    return look_up(words[1]);
  } catch (const kiln::device_error& wrong) {
    std::printf("%s\n", wrong.what());
    return 1;
  }
}
