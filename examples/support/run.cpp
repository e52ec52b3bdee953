// SPDX-License-Identifier: BSL-1.0
// The definition of run.hpp.
#include "run.hpp"

#include <kiln/core/error.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/device/cpu/threads/threads.hpp>
#include <kiln/device/cuda/driver/device.hpp>

#include <exception>
#include <iostream>

namespace support {

int run(const char* program, const options& with, void (*on_cpu)(const options&), void (*on_cuda)(const options&)) {
  try {
    kiln::set_num_threads(static_cast<int>(with.threads));
    kiln::manual_seed(with.seed);
    if (with.device == "cuda" && !kiln::cuda_available())
      throw kiln::device_error("--device cuda: " + kiln::cuda_unavailable_reason() + "; leave --device out");
    (with.device == "cuda" ? on_cuda : on_cpu)(with);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << program << ": " << e.what() << '\n';
    return 1;
  }
}

}  // namespace support
