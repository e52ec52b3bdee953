// SPDX-License-Identifier: BSL-1.0
// Functions over the samples of a set: map(set, f), transform(set, f), and some such functions for images. One that
// draws takes a generator as well; what it draws follows from the sample's number, the epoch and the loader's seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/data/dataset.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::data {

namespace detail {

/// f(x), or f(x, random) if it draws.
template <class F, class X>
auto applied(const F& f, X&& x, generator& random) {
  if constexpr (std::is_invocable_v<const F&, X, generator&>)
    return f(std::forward<X>(x), random);
  else
    return f(std::forward<X>(x));
}
template <class F, class X>
inline constexpr bool draws = std::is_invocable_v<const F&, X, generator&>;

/// Applies a function to the first part of a sample, or to all of one that is no tuple.
template <class F>
struct on_first {
  F f;
  template <class X>
  auto operator()(X&& sample, generator& random) const {
    if constexpr (requires { std::tuple_size<std::remove_cvref_t<X>>::value; })
      return std::apply(
          [&](auto&& first, auto&&... rest) {
            return std::tuple(applied(f, std::forward<decltype(first)>(first), random),
                              std::forward<decltype(rest)>(rest)...);
          },
          std::forward<X>(sample));
    else
      return applied(f, std::forward<X>(sample), random);
  }
};

/// The number of a generator from 0 to 1.
inline double uniform(generator& random) {
  return static_cast<double>(random.take(1).bits(0) >> 11) * 0x1p-53;
}

}  // namespace detail

/// A set whose samples are those of another one after a function.
template <Dataset D, class F>
class MapDataset {
  static constexpr bool random = detail::GetsRandom<D> || detail::draws<F, sample_t<D>>;

 public:
  MapDataset(D dataset, F f) : dataset_(std::move(dataset)), f_(std::move(f)) {}
  std::int64_t size() const { return static_cast<std::int64_t>(dataset_.size()); }
  auto get(std::int64_t i) const requires(!random) { return f_(dataset_.get(i)); }
  auto get(std::int64_t i, generator& from) const requires random {
    return detail::applied(f_, detail::sample_of(dataset_, i, from), from);
  }
  const D& dataset() const { return dataset_; }

 private:
  D dataset_;
  F f_;
};

/// f(sample) of each sample, or f(sample, generator&) if it draws.
template <Dataset D, class F>
MapDataset<D, F> map(D dataset, F f) {
  return {std::move(dataset), std::move(f)};
}
/// f of the first part of each sample, the input, or f(input, generator&); the rest stays. Several functions are
/// applied one after the other. What torchvision's sets call `transform`.
template <Dataset D, class F, class... More>
auto transform(D dataset, F f, More... more) {
  auto one = map(std::move(dataset), detail::on_first<F>{std::move(f)});
  if constexpr (sizeof...(More) == 0)
    return one;
  else
    return transform(std::move(one), std::move(more)...);
}

namespace transforms {

/// (x - mean[c]) / std[c] in each channel c of an image (C, H, W).
class Normalize {
 public:
  /// Throws value_error for lists of different lengths, and for a std of 0.
  Normalize(std::vector<double> mean, std::vector<double> std) : mean_(std::move(mean)), std_(std::move(std)) {
    if (mean_.size() != std_.size())
      throw value_error(
          message("Normalize: ", mean_.size(), " means and ", std_.size(), " deviations: give one of each a channel"));
    for (const double s : std_)
      if (!(s > 0)) throw value_error(message("Normalize: a deviation of ", s, ": it must be above 0"));
  }
  /// Throws shape_error for another number of channels.
  template <Element T>
  Tensor<T> operator()(const Tensor<T>& image) const {
    if (image.dim() == 0 || image.size(0) != static_cast<std::int64_t>(mean_.size()))
      throw shape_error(message("Normalize: an image of shape ", image.sizes(), " and ", mean_.size(),
                                " means: they are one a channel, the first axis"));
    auto result = empty<T>(image.sizes());
    const Tensor<T> from = image.contiguous();
    const std::int64_t n = result.numel() / std::max<std::int64_t>(image.size(0), 1);
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      const auto mean = static_cast<compute_t<T>>(mean_[c]), by = static_cast<compute_t<T>>(1 / std_[c]);
      const std::int64_t begin = static_cast<std::int64_t>(c) * n;
      for (std::int64_t i = begin; i < begin + n; ++i)
        result.data()[i] = static_cast<T>((static_cast<compute_t<T>>(from.data()[i]) - mean) * by);
    }
    return result;
  }

 private:
  std::vector<double> mean_, std_;
};

/// Turns an image (..., W) around, left to right, with probability p.
struct RandomHorizontalFlip {
  double p = 0.5;
  template <Element T>
  Tensor<T> operator()(const Tensor<T>& image, generator& random) const {
    if (detail::uniform(random) >= p || image.dim() == 0) return image;
    auto result = image.clone();
    const std::int64_t width = image.size(-1);
    if (width > 0)
      for (T* row = result.data(); row != result.data() + result.numel(); row += width) std::reverse(row, row + width);
    return result;
  }
};

/// A part of `size` x `size` of an image (C, H, W), anywhere in it, around which `padding` zeros are put before.
struct RandomCrop {
  std::int64_t size = 0;
  std::int64_t padding = 0;
  /// Throws shape_error for an image that is smaller.
  template <Element T>
  Tensor<T> operator()(const Tensor<T>& image, generator& random) const {
    if (image.dim() != 3 || size < 0 || padding < 0 || image.size(1) + 2 * padding < size ||
        image.size(2) + 2 * padding < size)
      throw shape_error(message("RandomCrop: ", size, " x ", size, " of an image of shape ", image.sizes(), " with ",
                                padding, " zeros around: it must be (C, H, W) and large enough"));
    const auto at = [&](std::int64_t length) {
      const auto choices = static_cast<std::uint64_t>(length + 2 * padding - size + 1);
      return static_cast<std::int64_t>(scaled_to(random.take(1).bits(0), choices)) - padding;
    };
    const std::int64_t top = at(image.size(1)), left = at(image.size(2));
    auto result = zeros<T>({image.size(0), size, size});
    const Tensor<T> from = image.contiguous();
    const std::int64_t height = image.size(1), width = image.size(2);
    const std::int64_t begin = std::max<std::int64_t>(left, 0), end = std::min(left + size, width);
    for (std::int64_t c = 0; c < image.size(0) && begin < end; ++c)
      for (std::int64_t y = std::max<std::int64_t>(top, 0); y < std::min(top + size, height); ++y)
        std::copy_n(from.data() + (c * height + y) * width + begin, end - begin,
                    result.data() + (c * size + y - top) * size + begin - left);
    return result;
  }
};

}  // namespace transforms

}  // namespace kiln::data
