// SPDX-License-Identifier: BSL-1.0
// The progress display of the mnist_mlp example: plain lines without a terminal, means weighted by batch size.
#include "../../examples/mnist_mlp/progress.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

TEST_CASE("progress: without a terminal there is one plain line per epoch") {
  std::ostringstream out;
  mnist::progress show(2, 100, out, false);
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
  mnist::progress show(1, 0, out, false);
  show.begin_epoch();
  show.end_epoch(0, 0);
  CHECK(out.str() == "epoch 1/1  100%  loss 0.0000  accuracy 0.0000  0 samples/s  test accuracy 0.0000\n");
}

TEST_CASE("progress: on a terminal the line is rewritten, not repeated") {
  std::ostringstream out;
  mnist::progress show(1, 10, out, true);
  show.begin_epoch();
  show.step(1, 5, 10);
  show.end_epoch(0.5, 1);
  const std::string shown = out.str();
  CHECK(shown.find('\r') != std::string::npos);
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 1);
}
