// SPDX-License-Identifier: BSL-1.0
// What train_digits.hpp has for every model alike: digits as tensors, and the loader of their batches.
#include "train_digits.hpp"

#include <algorithm>

template class kiln::data::DataLoader<support::digit_tensors>;

namespace support {

digit_tensors tensors_of(const mnist::digit_set& set) {
  const auto n = static_cast<std::int64_t>(set.size());
  auto pixels = kiln::empty<float>({n, 784});
  auto labels = kiln::empty<std::int64_t>({n});
  std::transform(set.pixels.begin(), set.pixels.end(), pixels.data(), [](int ink) { return float(ink) / 255; });
  std::copy(set.labels.begin(), set.labels.end(), labels.data());
  return kiln::data::TensorDataset(pixels, labels);
}

}  // namespace support
