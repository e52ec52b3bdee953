// SPDX-License-Identifier: BSL-1.0
// Keeps one point per epoch, writes them as a table, and has gnuplot make a picture of it where gnuplot is installed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace support {

/// A few numbers per epoch, under names: "train_loss". Those whose names say accuracy have the picture's right axis.
struct learning_curve {
  std::vector<const char*> names;  ///< literals
  std::vector<std::vector<double>> points = {};
  std::int64_t first = 1;  ///< the number of the first epoch: of a run that goes on, not 1

  /// An epoch's point.
  void add(std::initializer_list<double> point);
};

/// Writes the points beside `picture` (same name, ending .dat) and the picture itself (PNG). Returns a sentence that
/// says what was written, or why there is no picture. Throws kiln::io_error if the table cannot be written.
std::string draw_curve(const learning_curve& curve, const std::string& picture);

/// True if a program of this name can be run from PATH.
bool program_exists(const std::string& name);

/// Runs gnuplot over `script` with `picture`, an open file, as its output; true if it said that it worked. Neither a
/// shell nor gnuplot sees a file's name: both would take some of them for commands ('|touch x', '<cmd', a line's end).
bool run_gnuplot(const std::string& script, int picture);

}  // namespace support
