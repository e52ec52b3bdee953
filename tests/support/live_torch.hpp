// SPDX-License-Identifier: BSL-1.0
// Tests beside a PyTorch that runs now: tests/nn/live_torch.py starts them with other inputs than those of the stored
// values, and with what PyTorch has just made of these.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

/// Added to the angle at which the waves begin that inputs and parameters are made of: 0 beside stored values.
inline double live_shift() {
  static const char* const shift = std::getenv("KILN_TEST_LIVE_SHIFT");
  return shift ? std::strtod(shift, nullptr) : 0;
}

/// The numbers of this name in the file that KILN_TEST_LIVE_VALUES names, a line each; without one, the stored ones.
inline std::vector<double> live_or_stored(const std::string& name, std::vector<double> stored) {
  static const char* const file = std::getenv("KILN_TEST_LIVE_VALUES");
  if (!file) return stored;
  static const auto values = [] {
    std::map<std::string, std::vector<double>> all;
    std::ifstream in(file);
    for (std::string line, word; std::getline(in, line);) {
      std::istringstream words(line);
      words >> word;
      std::vector<double>& numbers = all[word];
      while (words >> word) numbers.push_back(std::strtod(word.c_str(), nullptr));
    }
    return all;
  }();
  const auto found = values.find(name);
  if (found == values.end()) throw std::runtime_error("PyTorch's values have no " + name);
  return found->second;
}

}  // namespace test
