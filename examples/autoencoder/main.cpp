// SPDX-License-Identifier: BSL-1.0
// Learns to squeeze handwritten digits through 16 numbers, and draws what comes out beside what went in. The last line
// of output is test_loss=. Read train.hpp first.
#include "../support/run.hpp"
#include "train.hpp"

int main(int argc, char** argv) {
  support::options with{.epochs = 10, .learning_rate = 2e-3};
  const support::description program{
      .program = "autoencoder",
      .about = "Learns to draw handwritten digits again from 16 numbers, and prints test_loss= as its last line.",
      .data_is = "directory with MNIST's IDX files, plain or .gz; without it digits are drawn"};
  if (const auto code = support::read_options(argc, argv, program, with)) return *code;
  return support::run("autoencoder", with, autoencoder::run<kiln::Cpu>, autoencoder::run_on_cuda);
}
