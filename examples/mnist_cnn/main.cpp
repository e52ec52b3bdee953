// SPDX-License-Identifier: BSL-1.0
// Learns handwritten digits with a small convolutional network. The last line of output is test_accuracy=. Read
// train.hpp first, then support/train_digits.hpp.
#include "../support/run.hpp"
#include "train.hpp"

int main(int argc, char** argv) {
  support::options with{.epochs = 10, .learning_rate = 1e-3};
  const support::description program{
      .program = "mnist_cnn",
      .about = "Learns handwritten digits with two convolutions and prints test_accuracy= as its last line.",
      .data_is = "directory with MNIST's IDX files, plain or .gz; without it digits are drawn"};
  if (const auto code = support::read_options(argc, argv, program, with)) return *code;
  return support::run("mnist_cnn", with, mnist::run_cnn<kiln::Cpu>, mnist::run_cnn_on_cuda);
}
