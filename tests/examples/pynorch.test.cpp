// SPDX-License-Identifier: BSL-1.0
// The pynorch example prints what the article prints.
#include "../../examples/pynorch/curve.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

TEST_CASE("learn_curve: the ten losses of the article, digit by digit") {
  std::vector<std::string> printed;
  for (const double loss : pynorch::learn_curve(pynorch::first_network())) {
    char text[16];
    std::snprintf(text, sizeof text, "%.4f", loss);
    printed.emplace_back(text);
  }
  CHECK(printed == std::vector<std::string>{"1.7035", "0.7193", "0.3068", "0.1742", "0.1342", "0.1232", "0.1220",
                                            "0.1241", "0.1270", "0.1297"});
}
