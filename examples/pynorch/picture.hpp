// SPDX-License-Identifier: BSL-1.0
// The article's closing picture, the loss of each epoch, drawn by gnuplot where it is installed.
#pragma once

#include "../support/learning_curve.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

namespace pynorch {

/// Writes `file` (PNG). Returns a sentence that says so, or why there is no picture.
inline std::string draw_losses(const std::vector<double>& losses, const std::string& file) {
  if (!support::program_exists("gnuplot")) return "no picture: gnuplot is not installed";
  std::ostringstream script;
  script.imbue(std::locale::classic());
  script << "$losses << end\n";
  for (std::size_t i = 0; i < losses.size(); ++i) script << i + 1 << ' ' << losses[i] << '\n';
  script << "end\nset terminal pngcairo size 1000,500\nset title 'Training Loss by Epoch'\nset xlabel 'Epoch'\n"
            "set ylabel 'Loss'\nset xtics 1\nunset key\n"
            "plot $losses with linespoints linecolor rgb 'blue' pointtype 7\n";
  // Without waiting, in case the name is that of a pipe.
  const int picture = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (picture < 0) return "no picture: cannot write " + file;
  const bool drawn = support::run_gnuplot(script.str(), picture);
  close(picture);
  return drawn ? "picture: " + file : "no picture: gnuplot could not draw " + file;
}

}  // namespace pynorch
