// SPDX-License-Identifier: BSL-1.0
// The command line of the example: what all of them can be told (support/options.hpp), and momentum.
#pragma once

#include "../support/options.hpp"

namespace mnist {

struct options : support::options {
  double momentum = 0.9;
};

/// Reads the command line into `to`. Returns nothing if the program may go on, else the exit code: 0 after --help, 2
/// after a sentence on `errors`.
inline std::optional<int> read_options(int argc, const char* const* argv, options& to, std::ostream& out = std::cout,
                                       std::ostream& errors = std::cerr) {
  return support::read_options(
      argc, argv,
      {.program = "mnist_mlp",
       .about = "Learns handwritten digits with a 784-256-10 network and prints test_accuracy= as its last line.",
       .data_is = "directory with MNIST's IDX files, plain or .gz; without it digits are drawn"},
      to,
      {{"--momentum", "share of the last step that the next one keeps", &to.momentum, 0.0, 1 - 0x1p-53,
        "a number from 0 to below 1"}},
      out, errors);
}

}  // namespace mnist
