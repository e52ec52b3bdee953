// SPDX-License-Identifier: BSL-1.0
// The digit generator of the examples: repeatable by seed, balanced, and neither hopeless nor trivial.
#include "../../examples/support/digits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace {

/// Accuracy of the plainest classifier there is: the class whose mean image is nearest.
double nearest_mean_accuracy(const mnist::digit_data& data) {
  std::array<std::array<double, mnist::image_size>, 10> mean{};
  std::array<double, 10> count{};
  for (std::size_t i = 0; i < data.train.size(); ++i) {
    const std::size_t label = data.train.labels[i];
    count[label] += 1;
    for (std::size_t p = 0; p < mnist::image_size; ++p) mean[label][p] += data.train.pixels[i * mnist::image_size + p];
  }
  std::size_t right = 0;
  for (std::size_t i = 0; i < data.test.size(); ++i) {
    std::array<double, 10> distance{};
    for (std::size_t c = 0; c < 10; ++c)
      for (std::size_t p = 0; p < mnist::image_size; ++p) {
        const double d = mean[c][p] / count[c] - data.test.pixels[i * mnist::image_size + p];
        distance[c] += d * d;
      }
    const auto best = std::min_element(distance.begin(), distance.end()) - distance.begin();
    right += static_cast<std::size_t>(best) == data.test.labels[i];
  }
  return static_cast<double>(right) / static_cast<double>(data.test.size());
}

}  // namespace

TEST_CASE("draw_digits: the same seed draws the same digits, another seed others") {
  const mnist::digit_data a = mnist::draw_digits(3, 40, 10), b = mnist::draw_digits(3, 40, 10);
  const mnist::digit_data c = mnist::draw_digits(4, 40, 10);
  CHECK((a.train.pixels == b.train.pixels));
  CHECK(a.test.labels == b.test.labels);
  CHECK_FALSE((a.train.pixels == c.train.pixels));
  CHECK(a.origin == "digits drawn by the program, seed 3");
}

TEST_CASE("draw_digits: gives as many digits as asked, 8,000 and 2,000 unasked, of all ten classes alike") {
  const mnist::digit_data data = mnist::draw_digits(1);
  CHECK(data.train.size() == 8000);
  CHECK(data.test.size() == 2000);
  CHECK(data.train.pixels.size() == 8000 * mnist::image_size);
  std::array<int, 10> count{};
  for (const std::uint8_t label : data.train.labels) count.at(label)++;
  // 800 expected each, standard deviation 27.
  for (const int of_class : count) CHECK(std::abs(of_class - 800) < 5 * 27);
  CHECK(mnist::draw_digits(1, 0, 0).train.size() == 0);
}

TEST_CASE("draw_digits: ink is there and stays off the border") {
  const mnist::digit_data data = mnist::draw_digits(2, 500, 0);
  double border = 0, inside = 0;
  for (std::size_t i = 0; i < data.train.size(); ++i) {
    int dark = 0;
    for (std::size_t y = 0; y < 28; ++y)
      for (std::size_t x = 0; x < 28; ++x) {
        const int value = data.train.pixels[i * mnist::image_size + y * 28 + x];
        dark += value > 120;
        const bool edge = y == 0 || x == 0 || y == 27 || x == 27;
        (edge ? border : inside) += value;
      }
    CHECK(dark > 10);
    CHECK(dark < 400);
  }
  CHECK(border < 0.03 * inside);
}

TEST_CASE("draw_digits: the nearest class mean is far better than chance and far from perfect") {
  const double accuracy = nearest_mean_accuracy(mnist::draw_digits(1, 2000, 500));
  CHECK(accuracy > 0.4);
  CHECK(accuracy < 0.9);
  MESSAGE("nearest class mean: ", accuracy);
}
