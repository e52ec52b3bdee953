// SPDX-License-Identifier: BSL-1.0
// Upsample: images and signals at another size, by what lies nearest or between. Interpolation is a product with the
// shares that each place of the input has in one of the result, along rows and along columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <kiln/nn/layers/pool.hpp>

namespace kiln::nn {

/// How Upsample fills the places between.
enum class upsample_mode {
  nearest,
  linear,    ///< of signals
  bilinear,  ///< of images
  bicubic,   ///< of images, by cubics through four places (Keys 1981, with a = -0.75)
};

/// What Upsample may be told.
struct upsample_options {
  upsample_mode mode = upsample_mode::nearest;
  bool align_corners = false;  ///< the outermost places fall on each other, and not the edges; not of nearest
  pair2d size = 0;             ///< of the result, in place of a factor; of a signal, the width alone
};

namespace detail {

inline const char* name_of(upsample_mode mode) {
  constexpr const char* names[] = {"nearest", "linear", "bilinear", "bicubic"};
  return names[static_cast<int>(mode)];
}
/// (to, from): the shares of the input's places in each of the result.
template <Element T, class D>
Tensor<T, D> interpolation(std::int64_t from, std::int64_t to, const upsample_options& how, const D& where) {
  auto m = zeros<T>({to, from});
  const auto add = [&](std::int64_t i, std::int64_t at, double share) {
    m.data()[i * from + std::clamp<std::int64_t>(at, 0, from - 1)] += static_cast<T>(share);
  };
  // |x| up to 1, and from 1 to 2.
  constexpr double a = -0.75;
  const auto inner = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto outer = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const double step = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    if (how.mode == upsample_mode::nearest) {
      add(i, i * from / to, 1);
      continue;
    }
    double x = how.align_corners ? to > 1 ? static_cast<double>(i * (from - 1)) / static_cast<double>(to - 1) : 0.0
                                 : (static_cast<double>(i) + 0.5) * step - 0.5;
    if (how.mode != upsample_mode::bicubic) x = std::max(x, 0.0);
    const double floor = std::floor(x), t = x - floor;
    const std::int64_t at = static_cast<std::int64_t>(floor);
    if (how.mode != upsample_mode::bicubic) {
      add(i, at, 1 - t), add(i, at + 1, t);
    } else {
      add(i, at - 1, outer(t + 1)), add(i, at, inner(t)), add(i, at + 1, inner(1 - t)), add(i, at + 2, outer(2 - t));
    }
  }
  return m.template to<D>(where);
}

}  // namespace detail

/// Images (N, C, H, W) or (C, H, W), with mode linear signals (N, C, L) or (C, L), scale_factor times as large, or of
/// options.size: torch.nn.Upsample. A signal's factor and size are the widths.
struct Upsample {
  pair2d scale_factor = 1;
  upsample_options options{};
  /// Throws shape_error for what is no image or signal, value_error for a factor below 1, a negative size, or corners
  /// aligned by nearest.
  template <Expression X>
  auto operator()(const X& x) const {
    const bool sized = options.size != pair2d(0);
    if (!sized && (scale_factor.height < 1 || scale_factor.width < 1))
      throw value_error(message("Upsample: a scale_factor of ", scale_factor, ": use 1 or more, or a size"));
    if (sized && (options.size.height < 1 || options.size.width < 1))
      throw value_error(message("Upsample: a size of ", options.size, ": use 1 or more"));
    if (options.align_corners && options.mode == upsample_mode::nearest)
      throw value_error("Upsample: align_corners goes with linear, bilinear and bicubic, not with nearest");
    using R = Tensor<typename X::value_type, typename X::device_type>;
    if (options.mode == upsample_mode::linear)
      return R(detail::on_images<true>(*this, x, [&](const auto& images) {
        return resized(images, {1, sized ? options.size.width : images.size(3) * scale_factor.width});
      }));
    return R(detail::on_images<false>(*this, x, [&](const auto& images) {
      return resized(images, sized ? options.size
                                   : pair2d(images.size(2) * scale_factor.height, images.size(3) * scale_factor.width));
    }));
  }
  std::string settings() const {
    const std::string mode = std::string(", mode='") + detail::name_of(options.mode) + "'";
    return (options.size != pair2d(0) ? detail::settings_text("size", options.size)
                                      : detail::settings_text("scale_factor", scale_factor)) +
           mode + (options.align_corners ? ", align_corners=True" : "");
  }

 private:
  template <Element T, class D>
  Tensor<T, D> resized(const Tensor<T, D>& x, const pair2d& to) const {
    const dims s = x.sizes();
    if (s[2] < 1 || s[3] < 1)
      throw shape_error(message("Upsample: images of shape ", s, ": rows and columns must be 1 or more"));
    if (options.mode == upsample_mode::nearest && to.height % s[2] == 0 && to.width % s[3] == 0) {
      // Each place stands for a block of equal ones.
      const std::int64_t high = to.height / s[2], wide = to.width / s[3];
      return x.reshape(dims{s[0], s[1], s[2], 1, s[3], 1})
          .expand(dims{s[0], s[1], s[2], high, s[3], wide})
          .reshape(dims{s[0], s[1], to.height, to.width});
    }
    const D where(x.device());
    const Tensor<T, D> rows =
        s[2] == 1 && to.height == 1
            ? x
            : Tensor<T, D>(matmul(detail::interpolation<T, D>(s[2], to.height, options, where), x));
    return matmul(rows, transpose(detail::interpolation<T, D>(s[3], to.width, options, where)));
  }
};

}  // namespace kiln::nn
