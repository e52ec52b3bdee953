// SPDX-License-Identifier: BSL-1.0
// What every training program of the examples can be told on its command line. A bad value ends the program with one
// sentence and exit code 2 before any work. Read in options.cpp, because the library that does it costs more to compile
// than the rest of a program.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace support {

/// As many threads as the processor runs at a time.
std::int64_t all_threads();

struct options {
  std::string data = {};  ///< where the data is; empty if it was not said
  std::int64_t epochs = 5;
  std::int64_t batch = 64;
  double learning_rate = 0.1;
  std::uint64_t seed = 1;
  std::int64_t threads = all_threads();
  std::string picture = "learning_curve.png";  ///< empty: no picture
  std::string save = {}, resume = {};          ///< files; empty: none
  std::string device = "cpu";                  ///< or "cuda"
  std::vector<std::string> given = {};         ///< the names that the command line has, such as "--lr"
};

/// What a program says of itself. Literals, which cost it nothing to compile.
struct description {
  const char* program;            ///< "mnist_mlp"
  const char* about;              ///< the first line of --help
  const char* data_is;            ///< "directory with MNIST's IDX files, ..."
  const char* data_type = "DIR";  ///< or "FILE"
  const char* batch_is = "digits per step";
  bool data_needed = false;  ///< else "..., or leave --data out to " + `otherwise`
  const char* otherwise = "draw digits";
};

/// Where a number goes: one of the two.
struct number_place {
  std::int64_t* whole = nullptr;
  double* real = nullptr;
  number_place(std::int64_t* to) : whole(to) {}
  number_place(double* to) : real(to) {}
};

/// An option of one program alone.
struct number_option {
  const char* name;  ///< "--momentum"
  const char* is;
  number_place to;
  double low, high;
  const char* must_be;  ///< "a number from 0 to below 1"
};

/// Reads the command line into `to`. Returns nothing if the program may go on, else the exit code: 0 after --help, 2
/// after a sentence on `errors`.
std::optional<int> read_options(int argc, const char* const* argv, const description& program, options& to,
                                std::initializer_list<number_option> more = {}, std::ostream& out = std::cout,
                                std::ostream& errors = std::cerr);

}  // namespace support
