// SPDX-License-Identifier: BSL-1.0
// The learning curve of the examples: its table, its picture, and what it says when gnuplot is missing.
#include "../../examples/support/learning_curve.hpp"

#include <kiln/core/error.hpp>
#include <support/grouping_locale.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <string>

using kiln_tests::scratch_directory;

namespace {

const support::learning_curve points{{"train_loss", "train_accuracy", "test_accuracy"},
                                     {{0.5, 0.85, 0.9}, {0.25, 0.9375, 0.95}}};

}  // namespace

TEST_CASE("draw_curve: the table has a heading and one line per epoch, in every locale") {
  const scratch_directory dir;
  const kiln_tests::grouping_locale german;
  support::draw_curve(points, dir.path() / "curve.png");
  CHECK(kiln_tests::slurp(dir.path() / "curve.dat") ==
        "# epoch train_loss train_accuracy test_accuracy\n1 0.5 0.85 0.9\n2 0.25 0.9375 0.95\n");
}

TEST_CASE("draw_curve: with gnuplot the picture is a PNG, even under a name with a quote and a blank") {
  if (!support::program_exists("gnuplot")) {
    MESSAGE("skipped: gnuplot is not installed");
    return;
  }
  const scratch_directory dir;
  const auto picture = dir.path() / "it's a $(curve).png";
  const std::string said = support::draw_curve(points, picture);
  CHECK(said.find(picture.string()) != std::string::npos);
  CHECK(kiln_tests::slurp(picture).substr(0, 4) == "\x89PNG");
}

TEST_CASE("draw_curve: without gnuplot it says so and still writes the table") {
  const scratch_directory dir;
  const std::string before = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  setenv("PATH", dir.path().c_str(), 1);
  const std::string said = support::draw_curve(points, dir.path() / "curve.png");
  setenv("PATH", before.c_str(), 1);
  CHECK(said.find("gnuplot is not installed") != std::string::npos);
  CHECK(std::filesystem::exists(dir.path() / "curve.dat"));
}

TEST_CASE("draw_curve: no part of a name is a command, neither to a shell nor to gnuplot") {
  const scratch_directory dir;
  // A gnuplot that does with files and pipes as the real one does, where that is not installed; it writes down what it
  // was told.
  const std::string before = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  std::filesystem::create_directory(dir.path() / "bin");
  const auto program = dir.write("bin/gnuplot", "#!/bin/sh\ncat > told\nprintf '\\211PNG'\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const auto home = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const bool has_gnuplot = support::program_exists("gnuplot");
  for (const bool real : {false, true}) {
    if (real && !has_gnuplot) continue;
    if (!real) setenv("PATH", ((dir.path() / "bin").string() + ":" + before).c_str(), 1);
    for (const std::string name : {"|touch PIPED #.png", "<touch PIPED #.png", "a'\nsystem 'touch PIPED' #.png",
                                   "`touch PIPED`.png", "$(touch PIPED).png", "'.png", "\".png"}) {
      CAPTURE(name);
      const std::string said = support::draw_curve(points, name);
      CHECK(said.find("no picture") == std::string::npos);
      CHECK_FALSE(std::filesystem::exists("PIPED"));
      CHECK(kiln_tests::slurp(dir.path() / name).substr(0, 4) == "\x89PNG");
      if (!real) {
        const std::string told = kiln_tests::slurp(dir.path() / "told");
        CHECK(told.find("plot $points") != std::string::npos);
        CHECK(told.find("PIPED") == std::string::npos);
        CHECK(told.find("set output") == std::string::npos);
      }
    }
    setenv("PATH", before.c_str(), 1);
  }
  std::filesystem::current_path(home);
}

TEST_CASE("draw_curve: a gnuplot that fails and a picture that cannot be opened are said") {
  const scratch_directory dir;
  const std::string before = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  std::filesystem::permissions(dir.write("gnuplot", "#!/bin/sh\nexit 1\n"), std::filesystem::perms::owner_all);
  setenv("PATH", dir.path().c_str(), 1);
  CHECK(support::draw_curve(points, dir.path() / "curve.png").find("gnuplot could not draw") != std::string::npos);
  dir.write("gnuplot", "#!/bin/sh\n");  // whose disk is full
  CHECK(support::draw_curve(points, dir.path() / "curve.png").find("gnuplot could not draw") != std::string::npos);
  REQUIRE(mkfifo((dir.path() / "pipe.png").c_str(), 0600) == 0);
  CHECK(support::draw_curve(points, dir.path() / "pipe.png").find("cannot write") != std::string::npos);
  setenv("PATH", before.c_str(), 1);
}

TEST_CASE("draw_curve: a place that cannot be written and a picture named .dat are io_errors") {
  const scratch_directory dir;
  CHECK_THROWS_AS(support::draw_curve(points, dir.path() / "absent" / "curve.png"), kiln::io_error);
  CHECK_THROWS_AS(support::draw_curve(points, dir.path() / "curve.dat"), kiln::io_error);
  CHECK_THROWS_WITH_AS(support::draw_curve(points, "/dev/full"), doctest::Contains("is a device"), kiln::io_error);
  CHECK_FALSE(std::filesystem::exists("/dev/full.dat"));
  REQUIRE(mkfifo((dir.path() / "pipe.dat").c_str(), 0600) == 0);
  CHECK_THROWS_AS(support::draw_curve(points, dir.path() / "pipe.png"), kiln::io_error);
}
