// SPDX-License-Identifier: BSL-1.0
// The progress display of the examples: plain lines without a terminal, means weighted by batch size.
#include "../../examples/support/progress.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <thread>

TEST_CASE("progress: without a terminal there is one plain line per epoch") {
  std::ostringstream out;
  support::progress show(2, 100, out, false);
  for (int epoch = 0; epoch < 2; ++epoch) {
    show.begin_epoch();
    show.step(1.0, 30, 60);
    show.step(2.0, 30, 40);
    show.end_epoch(0.5, 0.25);
  }
  CHECK(out.str() ==
        "epoch 1/2  100%  loss 1.4000  accuracy 0.6000  400 samples/s  test accuracy 0.5000\n"
        "epoch 2/2  100%  loss 1.4000  accuracy 0.6000  400 samples/s  test accuracy 0.5000\n");
}

TEST_CASE("progress: before any step the means are 0 and nothing divides by zero") {
  std::ostringstream out;
  support::progress show(1, 0, out, false);
  show.begin_epoch();
  show.end_epoch(0, 0);
  CHECK(out.str() == "epoch 1/1  100%  loss 0.0000  accuracy 0.0000  0 samples/s  test accuracy 0.0000\n");
}

TEST_CASE("progress: on a terminal the line is rewritten, not repeated") {
  std::ostringstream out;
  support::progress show(1, 10, out, true);
  show.begin_epoch();
  show.step(1, 5, 10);
  show.end_epoch(0.5, 1);
  const std::string shown = out.str();
  CHECK(shown.find('\r') != std::string::npos);
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 1);
}

TEST_CASE("progress: what knows no right answers shows none, and another number under its name") {
  std::ostringstream out;
  support::progress show(3, 100, out, false, "characters");
  show.resume(2);
  show.begin_epoch();
  show.step(2.0, 50);
  show.step(4.0, 50);
  show.end_epoch("validation loss", 1.25, 0.5);
  CHECK(out.str() == "epoch 3/3  100%  loss 3.0000  200 characters/s  validation loss 1.2500\n");
}

TEST_CASE("progress: on a terminal the line says how much time is left") {
  std::ostringstream out;
  support::progress show(2, 4, out, true);
  show.begin_epoch();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double before = show.seconds();
  show.step(1, 1, 1);  // 7 of 8 samples to go, at the pace of the first
  const double after = show.seconds();
  const std::string text = out.str();
  const std::size_t at = text.find("samples/s  ");
  REQUIRE(at != std::string::npos);
  long long minutes = -1, seconds = -1;
  REQUIRE(std::sscanf(text.c_str() + at, "samples/s %lld:%2lld left", &minutes, &seconds) == 2);
  CHECK(minutes * 60 + seconds >= std::llround(7 * before));
  CHECK(minutes * 60 + seconds <= std::llround(7 * after));
}
