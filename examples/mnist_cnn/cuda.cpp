// SPDX-License-Identifier: BSL-1.0
// The same on a GPU.
#include <kiln/cuda.hpp>

#include "train.hpp"

void mnist::run_cnn_on_cuda(const support::options& with) {
  run_cnn<kiln::Cuda>(with);
}
