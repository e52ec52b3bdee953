// SPDX-License-Identifier: BSL-1.0
// What programs learn from: grey images of 28 x 28 bytes with the digit that each one shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mnist {

inline constexpr std::size_t image_side = 28;
inline constexpr std::size_t image_size = image_side * image_side;
inline constexpr std::size_t class_count = 10;

/// Images and their labels. Image i is pixels[i * 784] up to pixels[i * 784 + 783], row by row, 0 = background, 255 =
/// ink; labels[i] is 0 to 9.
struct digit_set {
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;
  std::size_t size() const { return labels.size(); }
};

/// A set to learn from, a set to be judged on, and a sentence that says where both came from.
struct digit_data {
  digit_set train, test;
  std::string origin;
};

/// Cuts one set in two: the first `first` digits and the rest. `first` is at most set.size().
inline std::pair<digit_set, digit_set> split(const digit_set& set, std::size_t first) {
  const auto pixel = set.pixels.begin() + static_cast<std::ptrdiff_t>(first * image_size);
  const auto label = set.labels.begin() + static_cast<std::ptrdiff_t>(first);
  return {digit_set{{set.pixels.begin(), pixel}, {set.labels.begin(), label}},
          digit_set{{pixel, set.pixels.end()}, {label, set.labels.end()}}};
}

}  // namespace mnist
