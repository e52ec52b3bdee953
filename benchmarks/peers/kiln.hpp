// SPDX-License-Identifier: BSL-1.0
// kiln's side of the contests: tensors made from the contest's numbers, on one thread unless a contest says otherwise.
#pragma once

#include <kiln/kiln.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace peers {

inline kiln::dims sizes(const std::vector<std::size_t>& shape) {
  kiln::dims out;
  for (const std::size_t size : shape) out.push_back(static_cast<std::int64_t>(size));
  return out;
}

/// A tensor to write results into.
inline kiln::Tensor<float> result(const std::vector<std::size_t>& shape) {
  return kiln::zeros<float>(sizes(shape));
}

/// A tensor with a copy of these numbers.
inline kiln::Tensor<float> tensor(const float* numbers, const std::vector<std::size_t>& shape) {
  kiln::Tensor<float> out = result(shape);
  std::copy_n(numbers, out.numel(), out.data());
  return out;
}

inline const float* data(const kiln::Tensor<float>& t) {
  return t.data();
}

[[maybe_unused]] inline const bool one_thread = [] {
  kiln::cpu::set_num_threads(1);
  return true;
}();

}  // namespace peers
