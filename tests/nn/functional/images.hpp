// SPDX-License-Identifier: BSL-1.0
// Test images, and comparisons with plain double loops.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <kiln/tensor/creation.hpp>

namespace images {

using namespace kiln;

/// A contiguous tensor whose elements are exact in every type: small multiples of 1/8 without a pattern.
template <class T>
Tensor<T> grainy(const dims& sizes, std::uint32_t seed = 1) {
  Tensor<T> out = empty<T>(sizes);
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (T& v : out.span()) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<T>(static_cast<float>(static_cast<int>(state >> 28) - 8) / 8.0f);
  }
  return out;
}

/// The elements as double, in row-major order.
template <class T>
std::vector<double> values(const Tensor<T>& x) {
  std::vector<double> out;
  const Tensor<T> y = x.clone();
  for (const T v : y.span()) out.push_back(static_cast<double>(static_cast<compute_t<T>>(v)));
  return out;
}

/// Elements further from what is expected than `tolerance` times the larger of 1 and its size, of nan those that are
/// none.
template <class T>
int wrong(const Tensor<T>& got, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> g = values(got);
  if (g.size() != expected.size()) return -1;
  int n = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double e = expected[i];
    const bool same = std::isnan(e) || std::isnan(g[i]) ? std::isnan(e) && std::isnan(g[i])
                      : std::isinf(e)                   ? g[i] == e
                                                        : std::fabs(g[i] - e) <= tolerance * std::fmax(1, std::fabs(e));
    n += !same;
  }
  return n;
}

/// How far one rounding to T may be off, relatively.
template <class T>
double rounding() {
  return static_cast<double>(static_cast<float>(std::numeric_limits<T>::epsilon()));
}

}  // namespace images
