// SPDX-License-Identifier: BSL-1.0
// Learns handwritten digits: a 784-256-10 network with relu, cross-entropy, and gradient descent with momentum. The
// last line of output is test_accuracy=. Read train.hpp first, then support/train_digits.hpp; the rest is data.
#include "../support/run.hpp"
#include "train.hpp"

int main(int argc, char** argv) {
  mnist::options with;
  if (const auto code = mnist::read_options(argc, argv, with)) return *code;
  return support::run("mnist_mlp", with, mnist::run<kiln::Cpu>, mnist::run_on_cuda);
}
