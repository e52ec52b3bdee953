// SPDX-License-Identifier: BSL-1.0
// The same on a GPU.
#include <kiln/cuda.hpp>

#include "train.hpp"

void autoencoder::run_on_cuda(const support::options& with) {
  run<kiln::Cuda>(with);
}
