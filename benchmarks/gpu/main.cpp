// SPDX-License-Identifier: BSL-1.0
// main() of the program that measures a GPU: says which one, and what libraries it works with.
#include <kiln/device/cuda/compile/nvrtc.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/libraries/cublaslt.hpp>

#include <benchmark/benchmark.h>

#include <cstdio>
#include <exception>
#include <string>

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  if (!kiln::cuda_available()) {
    std::fprintf(stderr, "There is no GPU to measure: %s\n", kiln::cuda_unavailable_reason().c_str());
    return 2;
  }
  try {
    const auto& device = kiln::cuda::properties({});
    const auto& nvrtc = kiln::cuda::nvrtc();
    benchmark::AddCustomContext("device", device.name);
    benchmark::AddCustomContext("architecture", std::to_string(device.architecture));
    benchmark::AddCustomContext("driver", std::to_string(kiln::cuda::driver().version));
    benchmark::AddCustomContext("nvrtc", std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor));
    benchmark::AddCustomContext("cublaslt", std::to_string(kiln::cuda::cublaslt_api().version));
  } catch (const std::exception& caught) {
    std::fprintf(stderr, "%s\n", caught.what());
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
