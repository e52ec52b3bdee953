// SPDX-License-Identifier: BSL-1.0
// Learns to guess the next character of a text with an LSTM, and writes some. The last line of output is
// validation_loss=. Read train.hpp first, then support/characters.hpp; support/torch_characters.py learns the same with
// PyTorch.
#include "../support/run.hpp"
#include "train.hpp"

int main(int argc, char** argv) {
  support::options with{.epochs = 20, .batch = 16, .learning_rate = 3e-3};
  const support::description program{.program = "char_lstm",
                                     .about =
                                         "Learns to guess the next character of a text with an LSTM, and prints "
                                         "validation_loss= as its last line.",
                                     .data_is = "text to learn from, of some ten thousand characters or more",
                                     .data_type = "FILE",
                                     .batch_is = "windows of 64 characters per step",
                                     .data_needed = true};
  if (const auto code = support::read_options(argc, argv, program, with)) return *code;
  return support::run("char_lstm", with, char_lstm::run<kiln::Cpu>, char_lstm::run_on_cuda);
}
