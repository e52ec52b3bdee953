// SPDX-License-Identifier: BSL-1.0
// Whether a computation gives the same bits again: run after run, and on any number of threads. And inputs whose sums
// tell the order in which they were added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include <kiln/device/cpu/threads/threads.hpp>
#include <support/draw.hpp>
#include <support/sanitized.hpp>

namespace test {

/// How many different results f(), a tensor, has over `rounds` runs on each of several numbers of threads: over one on
/// fewer of them where a sanitizer looks on.
template <class F>
std::size_t bit_patterns(F f, int rounds = 4) {
  const int before = kiln::num_threads();
  std::set<std::string> seen;
  for (const int threads : {1, 2, 3, 4, 7}) {
    if (sanitized && threads != 1 && threads != 3) continue;
    if (sanitized) rounds = 1;
    kiln::set_num_threads(threads);
    for (int i = 0; i < rounds; ++i) {
      const auto y = f();  // contiguous
      seen.emplace(reinterpret_cast<const char*>(y.data()), static_cast<std::size_t>(y.numel()) * sizeof(*y.data()));
    }
  }
  kiln::set_num_threads(before);
  return seen.size();
}

/// A matrix in which large numbers of the upper rows come again, negative, in the lower ones, with small numbers
/// between them: sums of columns, and of all, are what rounding leaves of the small ones, in double too.
inline kiln::Tensor<float> cancelling(std::int64_t rows, std::int64_t columns, std::uint32_t seed) {
  draw d(seed);
  kiln::Tensor<float> x(kiln::new_tensor(kiln::dtype::float32, {rows, columns}));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t other = rows - 1 - i;
      float& value = x.data()[i * columns + j];
      value = static_cast<float>(d.real(-1, 1));
      if (std::min(i, other) % 5 == 1) continue;
      value *= j % 7 == 0 ? 3e10f : 1e3f;
      if (i > other) value = -x.data()[other * columns + j];
    }
  return x;
}

}  // namespace test
