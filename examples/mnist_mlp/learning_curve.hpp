// SPDX-License-Identifier: BSL-1.0
// Keeps one point per epoch, writes them as a table, and has gnuplot make a picture of it where gnuplot is installed.
#pragma once

#include <kiln/core/error.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace mnist {

struct curve_point {
  double train_loss, train_accuracy, test_accuracy;
};

/// True if a program of this name can be run from PATH.
inline bool program_exists(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

/// Writes the points to `file`, one line per epoch under a commented heading. Throws kiln::io_error if it cannot.
inline void write_curve(const std::vector<curve_point>& points, const std::filesystem::path& file) {
  std::ofstream out(file);
  out << "# epoch train_loss train_accuracy test_accuracy\n";
  for (std::size_t i = 0; i < points.size(); ++i)
    out << i + 1 << ' ' << points[i].train_loss << ' ' << points[i].train_accuracy << ' ' << points[i].test_accuracy
        << '\n';
  if (!out.flush())
    throw kiln::io_error(kiln::message("write_curve: cannot write ", file, "; name another place with --picture"));
}

/// Writes the points beside `picture` (same name, ending .dat) and the picture itself (PNG). Returns a sentence that
/// says what was written, or why there is no picture. Throws kiln::io_error if the table cannot be written.
inline std::string draw_curve(const std::vector<curve_point>& points, const std::filesystem::path& picture) {
  std::filesystem::path table = picture;
  table.replace_extension(".dat");
  if (table == picture)
    throw kiln::io_error(
        kiln::message("draw_curve: ", picture, " is the name of the table; end the picture's in .png"));
  write_curve(points, table);
  const std::string wrote = kiln::message("learning curve: ", table.string());
  if (!program_exists("gnuplot")) return wrote + " (no picture: gnuplot is not installed)";

  const auto quoted = [](const std::string& text) {  // gnuplot doubles a quote inside single quotes
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
  };
  const std::string script = kiln::message(
      "set terminal pngcairo size 800,500\nset output ", quoted(picture.string()),
      "\nset xlabel 'epoch'\nset ylabel 'loss'\nset y2label 'accuracy'\nset ytics nomirror\nset y2tics\nset yrange "
      "[0:*]\n",
      "set xtics 1\nset grid\nset key center right\nset xrange [0.8:", static_cast<double>(points.size()) + 0.2, "]\n",
      points.size() > 20 ? "set xtics autofreq\n" : "", "plot ", quoted(table.string()),
      " using 1:2 with linespoints title 'training loss',", " '' using 1:3 axes x1y2 with linespoints title ",
      "'training accuracy', '' using 1:4 axes x1y2 with linespoints title 'test accuracy'\n");
  // The script goes in by pipe, so no file name ever passes through a shell.
  std::FILE* gnuplot = popen("gnuplot 2>/dev/null", "w");
  const bool sent = gnuplot != nullptr && std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  const bool ran = gnuplot != nullptr && pclose(gnuplot) == 0;
  if (!sent || !ran) return wrote + " (no picture: gnuplot could not write " + picture.string() + ")";
  return wrote + ", " + picture.string();
}

}  // namespace mnist
