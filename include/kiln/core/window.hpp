// SPDX-License-Identifier: BSL-1.0
// Windows that move over images: what a convolution or a pooling is told about sizes, as plain numbers. Images are
// stored by batch, channel, row and column, without gaps; those of a convolution may have the channel last.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ostream>

#include <kiln/core/dims.hpp>
#include <kiln/core/version.hpp>

namespace kiln {

/// A number for each of the two axes of an image; one number stands for both.
struct pair2d {
  std::int64_t height, width;

  template <std::integral N>
  constexpr pair2d(N both) : height(static_cast<std::int64_t>(both)), width(height) {}
  constexpr pair2d(std::int64_t height_, std::int64_t width_) : height(height_), width(width_) {}

  /// Of images that are there, the product fits; of none, it may be any number.
  constexpr std::int64_t area() const { return detail::wrapping_product(height, width); }
  friend constexpr bool operator==(const pair2d&, const pair2d&) = default;
  friend std::ostream& operator<<(std::ostream& out, const pair2d& p) {
    return out << '(' << p.height << ", " << p.width << ')';
  }
};

/// A window, how far it moves, and how far it may reach over the edges of the image.
struct window2d {
  pair2d kernel = 1, stride = 1, padding = 0, dilation = 1;

  /// Rows and columns from the first element under the window to the last.
  constexpr pair2d reach() const {
    return {dilation.height * (kernel.height - 1) + 1, dilation.width * (kernel.width - 1) + 1};
  }
  friend constexpr bool operator==(const window2d&, const window2d&) = default;
};

/// Positions begin to end (not included) along an axis.
struct index_range {
  std::int64_t begin, end;
  constexpr std::int64_t size() const { return end - begin; }
};

/// The places at, at + stride, ... among `places` that lie inside [0, size): all of them, without those in the padding.
constexpr index_range places_inside(std::int64_t at, std::int64_t stride, std::int64_t places, std::int64_t size) {
  const std::int64_t first = at >= 0 ? 0 : std::min(places, (-at + stride - 1) / stride);
  const std::int64_t last = at >= size ? 0 : std::min(places, (size - 1 - at) / stride + 1);
  return {first, std::max(first, last)};
}

/// Where the axis of channels stands: (batch, channel, row, column) or (batch, row, column, channel).
enum class image_layout : std::uint8_t { channels_first, channels_last };

/// A convolution of images (batch, channels, image) with (out_channels, channels / groups, kernel); or both, and the
/// result, with their second axis as the last.
struct convolution_sizes {
  std::int64_t batch, channels, out_channels, groups;
  pair2d image, places;  ///< rows and columns of an input channel, and of an output channel
  window2d window;
  image_layout layout = image_layout::channels_first;

  constexpr dims in_layout(std::int64_t first, std::int64_t second, const pair2d& last) const {
    if (layout == image_layout::channels_last) return {first, last.height, last.width, second};
    return {first, second, last.height, last.width};
  }
  /// Of the images, the kernels and the result.
  constexpr dims image_sizes() const { return in_layout(batch, channels, image); }
  constexpr dims kernel_sizes() const { return in_layout(out_channels, group_inputs(), window.kernel); }
  constexpr dims result_sizes() const { return in_layout(batch, out_channels, places); }

  constexpr std::int64_t group_inputs() const { return channels / groups; }
  constexpr std::int64_t group_outputs() const { return out_channels / groups; }
  /// Elements under the window in all channels of a group: what one element of the result is a sum of.
  constexpr std::int64_t patch() const { return group_inputs() * window.kernel.area(); }
  constexpr std::int64_t weights() const { return out_channels * patch(); }
  /// Whether each element of the result comes from the elements in the same place: a matrix product.
  constexpr bool pointwise() const {
    return window.kernel == pair2d(1) && window.stride == pair2d(1) && window.padding == pair2d(0);
  }
  friend constexpr bool operator==(const convolution_sizes&, const convolution_sizes&) = default;
};

/// A pooling of `planes` images, which are batches times channels.
struct pooling_sizes {
  std::int64_t planes;
  pair2d image, places;
  window2d window;
  friend constexpr bool operator==(const pooling_sizes&, const pooling_sizes&) = default;
};

/// What the sum under a window is divided by.
struct average_divisor {
  bool padding = true;     ///< the padding counts as elements
  std::int64_t fixed = 0;  ///< if not 0: this number for every window

  /// For the window whose first element has this position; it may reach over the padding at the far edge, but what
  /// lies beyond that never counts.
  constexpr double of(const pooling_sizes& s, pair2d first) const {
    if (fixed != 0) return static_cast<double>(fixed);
    auto along = [this](std::int64_t at, std::int64_t kernel, std::int64_t size, std::int64_t pad) {
      const std::int64_t end = std::min(at + kernel, size + pad);
      return padding ? end - at : std::min(end, size) - std::max<std::int64_t>(at, 0);
    };
    const window2d& w = s.window;
    return static_cast<double>(along(first.height, w.kernel.height, s.image.height, w.padding.height) *
                               along(first.width, w.kernel.width, s.image.width, w.padding.width));
  }
};

}  // namespace kiln
