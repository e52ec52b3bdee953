// SPDX-License-Identifier: BSL-1.0
// For the tests of cuDNN's graphs: numbers, and memory of the device that holds them.
#pragma once

#include <kiln/core/half.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cudnn_test {

using namespace kiln;
using numbers = std::vector<double>;

/// Multiples of 1/16 between -1 and 1, which half types hold exactly.
inline numbers some(std::int64_t n, std::uint32_t state) {
  numbers out(static_cast<std::size_t>(n));
  for (double& v : out) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<double>(static_cast<int>(state >> 27) - 16) / 16;
  }
  return out;
}

/// Memory of the device with these values as a T.
template <class T>
struct on_device {
  ref<storage> memory;
  std::size_t n;
  explicit on_device(const numbers& values)
      : memory(cuda::new_storage(values.size() * sizeof(T), cuda::current_stream(Cuda{0}))), n(values.size()) {
    std::vector<T> rounded;
    for (const double v : values) rounded.push_back(static_cast<T>(static_cast<float>(v)));
    cuda::copy_to_device(memory->data, rounded.data(), n * sizeof(T), cuda::current_stream(Cuda{0}));
  }
  /// n numbers that nobody has written.
  explicit on_device(std::int64_t count) : on_device(numbers(static_cast<std::size_t>(count), NAN)) {}
  void* data() const { return memory->data; }
  numbers values() const {
    std::vector<T> got(n);
    cuda::copy_to_host(got.data(), memory->data, n * sizeof(T), cuda::current_stream(Cuda{0}));
    numbers out;
    for (const T& v : got) out.push_back(static_cast<double>(static_cast<float>(v)));
    return out;
  }
  /// The largest distance to these values, of large ones relative to them; infinite where one is NaN.
  double distance(const numbers& wanted) const {
    const numbers got = values();
    double worst = wanted.size() == n ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(n, wanted.size()); ++i) {
      const double d = std::abs(got[i] - wanted[i]) / std::max(1.0, std::abs(wanted[i]));
      worst = d <= worst ? worst : (std::isnan(d) ? INFINITY : d);
    }
    return worst;
  }
};

}  // namespace cudnn_test
