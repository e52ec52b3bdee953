// SPDX-License-Identifier: BSL-1.0
// The table, what gnuplot is told, and how it is run.
#include "learning_curve.hpp"

#include <kiln/core/error.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>
#include <system_error>

namespace support {
namespace {

void write_rows(const learning_curve& curve, std::ostream& out) {
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    out << curve.first + static_cast<std::int64_t>(i);
    for (const double value : curve.points[i]) out << ' ' << value;
    out << '\n';
  }
}

/// Writes the points to `file`, one line per epoch under a commented heading. Throws kiln::io_error if it cannot.
void write_curve(const learning_curve& curve, const std::filesystem::path& file) {
  std::error_code unknown;
  if (std::filesystem::is_fifo(std::filesystem::status(file, unknown)))
    throw kiln::io_error(kiln::message("write_curve: ", file, " is a pipe, which might wait for ever; name another ",
                                       "place with --picture"));
  std::ofstream out(file);
  out.imbue(std::locale::classic());
  out << "# epoch";
  for (const char* name : curve.names) out << ' ' << name;
  out << '\n';
  write_rows(curve, out);
  if (!out.flush())
    throw kiln::io_error(kiln::message("write_curve: cannot write ", file, "; name another place with --picture"));
}

}  // namespace

void learning_curve::add(std::initializer_list<double> point) {
  points.emplace_back(point);
}

bool program_exists(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

bool run_gnuplot(const std::string& script, int picture) {
  std::FILE* const input = std::tmpfile();
  if (input == nullptr) return false;
  bool good = std::fwrite(script.data(), 1, script.size(), input) == script.size() && std::fflush(input) == 0 &&
              lseek(fileno(input), 0, SEEK_SET) == 0;
  posix_spawn_file_actions_t streams;
  if (good && posix_spawn_file_actions_init(&streams) == 0) {
    char name[] = "gnuplot";
    char* const arguments[] = {name, nullptr};
    pid_t child = 0;
    int status = -1;
    good = posix_spawn_file_actions_adddup2(&streams, fileno(input), STDIN_FILENO) == 0 &&
           posix_spawn_file_actions_adddup2(&streams, picture, STDOUT_FILENO) == 0 &&
           posix_spawn_file_actions_addopen(&streams, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
           posix_spawnp(&child, name, &streams, nullptr, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&streams);
    while (good && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  } else {
    good = false;
  }
  std::fclose(input);
  return good;
}

std::string draw_curve(const learning_curve& curve, const std::string& place) {
  const std::filesystem::path picture = place;
  std::filesystem::path table = picture;
  table.replace_extension(".dat");
  if (table == picture)
    throw kiln::io_error(
        kiln::message("draw_curve: ", picture, " is the name of the table; end the picture's in .png"));
  std::error_code unknown;
  const std::filesystem::file_status there = std::filesystem::status(picture, unknown);
  if (std::filesystem::is_character_file(there) || std::filesystem::is_block_file(there))
    throw kiln::io_error(kiln::message("draw_curve: ", picture, " is a device; name another place with --picture"));
  write_curve(curve, table);
  const std::string wrote = kiln::message("learning curve: ", table.string());
  if (!program_exists("gnuplot")) return wrote + " (no picture: gnuplot is not installed)";

  std::ostringstream script;
  script.imbue(std::locale::classic());
  script << "$points << end_of_points\n";
  write_rows(curve, script);
  const double first = static_cast<double>(curve.first), count = static_cast<double>(curve.points.size());
  script << "end_of_points\nset terminal pngcairo size 800,500\n"
            "set xlabel 'epoch'\nset ylabel 'loss'\nset grid\nset key center right\nset yrange [0:*]\nset xtics 1\n";
  const auto is_accuracy = [](const std::string& name) { return name.find("accuracy") != std::string::npos; };
  if (std::any_of(curve.names.begin(), curve.names.end(), is_accuracy))
    script << "set y2label 'accuracy'\nset ytics nomirror\nset y2tics\n";
  script << "set xrange [" << first - 0.2 << ':' << first + count - 0.8 << "]\n"
         << (count > 20 ? "set xtics autofreq\n" : "") << "plot ";
  for (std::size_t k = 0; k < curve.names.size(); ++k) {
    std::string title = curve.names[k];
    std::replace(title.begin(), title.end(), '_', ' ');
    script << (k ? ", " : "") << "$points using 1:" << k + 2 << (is_accuracy(title) ? " axes x1y2" : "")
           << " with linespoints title '" << title << "'";
  }
  script << '\n';

  // Without waiting, in case the name is that of a pipe.
  const int file = open(picture.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (file < 0) return wrote + " (no picture: cannot write " + picture.string() + ": " + std::strerror(errno) + ")";
  struct stat drawn {};
  // gnuplot ends well where a disk is full, too.
  const bool ran = run_gnuplot(script.str(), file) && fstat(file, &drawn) == 0 && drawn.st_size > 0;
  close(file);
  if (!ran) return wrote + " (no picture: gnuplot could not draw " + picture.string() + ")";
  return wrote + ", " + picture.string();
}

}  // namespace support
