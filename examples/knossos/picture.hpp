// SPDX-License-Identifier: BSL-1.0
// The page's two plots, a function and its derivative, drawn by gnuplot where it is installed.
#pragma once

#include "../support/learning_curve.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <locale>
#include <sstream>
#include <string>

namespace knossos {

/// Writes `file` (PNG) with f and its derivative `slope` from -2 to 2, side by side. Returns a sentence that says so,
/// or why there is no picture.
template <class F, class Slope>
std::string draw_function(const F& f, const Slope& slope, const std::string& file) {
  if (!support::program_exists("gnuplot")) return "no picture: gnuplot is not installed";
  std::ostringstream script;
  script.imbue(std::locale::classic());
  script << "$points << end\n";
  for (int i = -100; i <= 100; ++i) {
    const float x = static_cast<float>(i) / 50;
    script << x << ' ' << f(x) << ' ' << slope(x) << '\n';
  }
  script << "end\nset terminal pngcairo size 1000,400\nset multiplot layout 1,2\nset grid\nunset key\n"
            "set xlabel 'x'\nset title 'relu3(x)'\nplot $points using 1:2 with lines linewidth 2\n"
            "set title 'its derivative'\nplot $points using 1:3 with lines linewidth 2\nunset multiplot\n";
  // Without waiting, in case the name is that of a pipe.
  const int picture = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (picture < 0) return "no picture: cannot write " + file;
  const bool drawn = support::run_gnuplot(script.str(), picture);
  close(picture);
  return drawn ? "picture: " + file : "no picture: gnuplot could not draw " + file;
}

}  // namespace knossos
