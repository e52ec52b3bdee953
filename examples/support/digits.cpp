// SPDX-License-Identifier: BSL-1.0
// How digits are drawn: strokes per digit, bent by a smooth random warp, then slanted, turned, scaled and shifted,
// drawn with a random pen onto noisy 28 x 28 paper. The shapes are in `glyph`.
#include "digits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mnist {
namespace {

struct point {
  float x, y;
};
/// A stroke is a chain of points in the unit square, y down.
using stroke = std::vector<point>;

/// Uniform and normal draws made of the generator's bits alone: the distributions of <random> differ between libraries.
class pen_noise {
 public:
  explicit pen_noise(std::uint64_t seed) : bits_(seed) {}
  float uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>(bits_() >> 40) * (1.0F / 16777216.0F));
  }
  bool chance(float probability) { return uniform(0, 1) < probability; }
  int below(int count) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(count)); }
  /// Bell-shaped with variance 1: the sum of four uniform draws, which suffices for paper grain.
  float bell() {
    const std::uint64_t word = bits_();
    int sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<int>((word >> (16 * i)) & 0xFFFF);
    return (static_cast<float>(sum) / 65536.0F - 2.0F) * 1.7320508F;
  }

 private:
  std::mt19937_64 bits_;
};

/// Appends a piece of an ellipse from angle `from` to `to` (degrees; 0 right, 90 down) to the stroke `on`.
stroke arc(float x, float y, float rx, float ry, float from, float to, stroke on = {}) {
  const int pieces = std::max(3, static_cast<int>(std::abs(to - from) / 20));
  for (int i = 0; i <= pieces; ++i) {
    const float degrees = from + (to - from) * static_cast<float>(i) / static_cast<float>(pieces);
    const float angle = degrees * std::numbers::pi_v<float> / 180;
    on.push_back({x + rx * std::cos(angle), y + ry * std::sin(angle)});
  }
  return on;
}

/// The strokes of one way of writing `digit`. People write some digits in more than one way; `noise` picks.
std::vector<stroke> glyph(int digit, pen_noise& noise) {
  const bool other = noise.chance(0.4F);
  switch (digit) {
    case 0:
      return {arc(.5F, .5F, noise.uniform(.22F, .36F), .46F, -80, noise.uniform(262, 290))};
    case 1:
      if (other) return {{{.5F, .05F}, {.5F, .95F}}};
      return {{{.3F, .28F}, {.52F, .05F}, {.52F, .95F}}};
    case 2: {
      stroke line = arc(.48F, .3F, .29F, .25F, noise.uniform(180, 215), 400);
      line.push_back({.2F, .92F});
      if (other) return {arc(.28F, .86F, .1F, .07F, 150, 390, line), {{.33F, .9F}, {.85F, .93F}}};
      line.push_back({.83F, .92F});
      return {line};
    }
    case 3:
      return {arc(.47F, .72F, .3F, .23F, 270, noise.uniform(490, 530), arc(.47F, .28F, .26F, .22F, 205, 445))};
    case 4:
      if (other) return {{{.25F, .08F}, {.2F, .55F}, {.82F, .55F}}, {{.74F, .1F}, {.68F, .95F}}};
      return {{{.62F, .06F}, {.17F, .64F}, {.86F, .64F}}, {{.62F, .06F}, {.62F, .95F}}};
    case 5:
      return {arc(.46F, .67F, .3F, .26F, 235, noise.uniform(480, 530), {{.32F, .08F}, {.28F, .46F}}),
              {{.32F, .08F}, {.8F, .08F}}};
    case 6:
      return {arc(.5F, .7F, .28F, .24F, 180, 540, arc(.74F, .64F, .52F, .58F, noise.uniform(255, 268), 185))};
    case 7:
      if (other) return {{{.2F, .1F}, {.8F, .1F}, {.42F, .95F}}, {{.36F, .52F}, {.74F, .5F}}};
      return {{{.2F, .12F}, {.8F, .1F}, {.42F, .95F}}};
    case 8:
      return {arc(.5F, .72F, .28F, .23F, -90, 270, arc(.5F, .27F, .23F, .21F, 90, 450))};
    default:
      if (other) return {arc(.47F, .55F, .3F, .4F, 0, 110, arc(.5F, .3F, .27F, .24F, 0, 360))};
      return {arc(.5F, .32F, .26F, .25F, 0, 360), {{.76F, .3F}, {.7F, .95F}}};
  }
}

/// Lays ink of the given half width (pixels) along a chain of points given in pixels; `paper` keeps the darkest value.
void draw_stroke(const stroke& line, float half_width, float ink, std::array<float, image_size>& paper) {
  constexpr int side = static_cast<int>(image_side);
  for (std::size_t i = 1; i < line.size(); ++i) {
    const point a = line[i - 1], b = line[i];
    const float dx = b.x - a.x, dy = b.y - a.y, length = std::max(dx * dx + dy * dy, 1e-6F), reach = half_width + 1;
    const auto pixel = [](float at) { return std::clamp(static_cast<int>(at), 0, side - 1); };
    for (int y = pixel(std::min(a.y, b.y) - reach); y <= pixel(std::max(a.y, b.y) + reach); ++y)
      for (int x = pixel(std::min(a.x, b.x) - reach); x <= pixel(std::max(a.x, b.x) + reach); ++x) {
        const float px = static_cast<float>(x) + .5F - a.x, py = static_cast<float>(y) + .5F - a.y;
        const float along = std::clamp((px * dx + py * dy) / length, 0.0F, 1.0F);
        const float distance = std::hypot(px - along * dx, py - along * dy);
        // One pixel of ramp at the stroke's edge: the area of the pixel that the pen covers, nearly.
        const float covered = ink * std::clamp(half_width + .5F - distance, 0.0F, 1.0F);
        float& value = paper[static_cast<std::size_t>(y * side + x)];
        value = std::max(value, covered);
      }
  }
}

/// Draws one image of `digit` and appends its 784 bytes to `pixels`.
void draw_digit(int digit, pen_noise& noise, std::vector<std::uint8_t>& pixels) {
  std::vector<stroke> strokes = glyph(digit, noise);
  const float pi = std::numbers::pi_v<float>;
  // A smooth warp: one slow wave per direction, so that neighbouring points move alike.
  const float bend_x = noise.uniform(0, .09F), bend_y = noise.uniform(0, .09F);
  const float phase_x = noise.uniform(0, 2 * pi), phase_y = noise.uniform(0, 2 * pi);
  const float turn = noise.uniform(-.25F, .25F), slant = noise.uniform(-.3F, .3F);
  const float wide = noise.uniform(11, 20), high = noise.uniform(15, 22);
  const float shift_x = noise.uniform(-2, 2), shift_y = noise.uniform(-1.5F, 1.5F);
  const float wobble = .025F;
  for (stroke& line : strokes)
    for (point& p : line) {
      const float x = p.x + bend_x * std::sin(5 * p.y + phase_x) + wobble * noise.bell() - .5F;
      const float y = p.y + bend_y * std::sin(5 * p.x + phase_y) + wobble * noise.bell() - .5F;
      const float u = (x - slant * y) * wide, v = y * high;
      p = {u * std::cos(turn) - v * std::sin(turn) + 14 + shift_x,
           u * std::sin(turn) + v * std::cos(turn) + 14 + shift_y};
    }

  std::array<float, image_size> paper{};
  const float half_width = noise.uniform(.6F, 1.7F), ink = noise.uniform(.65F, 1);
  for (const stroke& line : strokes) draw_stroke(line, half_width, ink, paper);
  if (noise.chance(.3F)) {  // a slip of the pen
    const float x = noise.uniform(3, 25), y = noise.uniform(3, 25);
    draw_stroke({{x, y}, {x + noise.uniform(-5, 5), y + noise.uniform(-5, 5)}}, half_width, ink, paper);
  }
  const float grain = noise.uniform(0, .12F);
  for (const float value : paper)
    pixels.push_back(static_cast<std::uint8_t>(255 * std::clamp(value + grain * noise.bell(), 0.0F, 1.0F)));
}

}  // namespace

digit_data draw_digits(std::uint64_t seed, std::size_t train, std::size_t test) {
  pen_noise noise(seed);
  digit_set all;
  all.pixels.reserve((train + test) * image_size);
  for (std::size_t i = 0; i < train + test; ++i) {
    const int digit = noise.below(static_cast<int>(class_count));
    all.labels.push_back(static_cast<std::uint8_t>(digit));
    draw_digit(digit, noise, all.pixels);
  }
  auto [head, tail] = split(all, train);
  return {std::move(head), std::move(tail), "digits drawn by the program, seed " + std::to_string(seed)};
}

}  // namespace mnist
