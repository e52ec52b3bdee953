// SPDX-License-Identifier: BSL-1.0
// Operands of products, drawn.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace product_test {

inline std::mt19937& bits() {
  static std::mt19937 drawn(5);
  return drawn;
}
/// From -1 to 1.
template <class T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<T>(static_cast<float>(bits()() % 2001) / 1000 - 1));
  return out;
}
/// Small whole numbers: every sum is exact, so a result has no tolerance.
template <class T>
std::vector<T> whole_numbers(std::int64_t count) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<T>(static_cast<float>(bits()() % 9) - 4));
  return out;
}

}  // namespace product_test
