// SPDX-License-Identifier: BSL-1.0
// The command line of the example. A bad value ends the program with one sentence and exit code 2 before any work. Read
// in options.cpp, because the library that does it costs more to compile than the rest of the program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

namespace mnist {

struct options {
  std::string data;  ///< directory with IDX files; empty: draw the digits
  std::int64_t epochs = 5;
  std::int64_t batch = 64;
  double learning_rate = 0.1;
  double momentum = 0.9;
  std::uint64_t seed = 1;
  std::int64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::string picture = "learning_curve.png";  ///< empty: no picture
};

/// Reads the command line into `to`. Returns nothing if the program may go on, else the exit code: 0 after --help, 2
/// after a sentence on `errors`.
std::optional<int> read_options(int argc, const char* const* argv, options& to, std::ostream& out = std::cout,
                                std::ostream& errors = std::cerr);

}  // namespace mnist
