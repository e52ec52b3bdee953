// SPDX-License-Identifier: BSL-1.0
// Poolings as layers: the largest element or the average under a window, of signals and of images; and averages over as
// many windows as are asked for.
#pragma once

#include <cstdint>
#include <string>

#include <kiln/nn/functional/pool2d.hpp>
#include <kiln/nn/layers/layer.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/products.hpp>

namespace kiln::nn {

namespace detail {
inline pair2d stride_or(const pair2d& stride, const pair2d& kernel) {
  return stride == kernel_as_stride ? kernel : stride;
}
/// Runs a function of images (N, C, H, W) on what may lack N, or on signals, which may too.
template <bool Signals, class L, Expression X, class F>
auto on_images(const L& layer, const X& x, F f) {
  const dims sizes = shape_of(x);
  constexpr int rank = Signals ? 3 : 4;
  expect_rank(layer, sizes, rank - 1, rank,
              Signals ? "signals (N, C, L) or (C, L)" : "images (N, C, H, W) or (C, H, W)");
  auto images = sizes.rank() < rank ? unsqueeze(x, 0) : kiln::detail::as_tensor(x);
  if constexpr (Signals) images = unsqueeze(images, 2);
  auto y = f(images);
  if constexpr (Signals) y = squeeze(y, 2);
  return watched(&layer, sizes.rank() < rank ? squeeze(y, 0) : y);
}
}  // namespace detail

/// The largest element under a window, of images: torch.nn.MaxPool2d.
struct MaxPool2d {
  pair2d kernel_size = 1;
  max_pool2d_options options{};
  /// Throws shape_error, value_error as max_pool2d.
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::on_images<false>(*this, x,
                                    [&](const auto& images) { return max_pool2d(images, kernel_size, options); });
  }
  std::string settings() const {
    return detail::settings_text("kernel_size", kernel_size, "stride", detail::stride_or(options.stride, kernel_size),
                                 "padding", options.padding, "dilation", options.dilation, "ceil_mode",
                                 options.ceil_mode);
  }
};
/// The average of the elements under a window, of images: torch.nn.AvgPool2d.
struct AvgPool2d {
  pair2d kernel_size = 1;
  avg_pool2d_options options{};
  /// Throws shape_error, value_error as avg_pool2d.
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::on_images<false>(*this, x,
                                    [&](const auto& images) { return avg_pool2d(images, kernel_size, options); });
  }
  std::string settings() const {
    return detail::settings_text("kernel_size", kernel_size, "stride", detail::stride_or(options.stride, kernel_size),
                                 "padding", options.padding);
  }
};

/// The largest element under a window, of signals (N, C, L): torch.nn.MaxPool1d. A stride of 0 is the kernel's size.
struct MaxPool1d {
  std::int64_t kernel_size = 1, stride = 0, padding = 0, dilation = 1;
  bool ceil_mode = false;
  /// Throws shape_error, value_error as max_pool2d.
  template <Expression X>
  auto operator()(const X& x) const {
    const max_pool2d_options how{{1, stride ? stride : kernel_size}, {0, padding}, {1, dilation}, ceil_mode};
    return detail::on_images<true>(*this, x, [&](const auto& images) {
      return max_pool2d(images, {1, kernel_size}, how);
    });
  }
  std::string settings() const {
    return detail::settings_text("kernel_size", kernel_size, "stride", stride ? stride : kernel_size, "padding",
                                 padding, "dilation", dilation, "ceil_mode", ceil_mode);
  }
};
/// The average of the elements under a window, of signals (N, C, L): torch.nn.AvgPool1d. A stride of 0 is the kernel's
/// size.
struct AvgPool1d {
  std::int64_t kernel_size = 1, stride = 0, padding = 0;
  bool ceil_mode = false, count_include_pad = true;
  /// Throws shape_error, value_error as avg_pool2d.
  template <Expression X>
  auto operator()(const X& x) const {
    const avg_pool2d_options how{{1, stride ? stride : kernel_size}, {0, padding}, ceil_mode, count_include_pad};
    return detail::on_images<true>(*this, x, [&](const auto& images) {
      return avg_pool2d(images, {1, kernel_size}, how);
    });
  }
  std::string settings() const {
    return detail::settings_text("kernel_size", dims{kernel_size}, "stride", dims{stride ? stride : kernel_size},
                                 "padding", dims{padding});
  }
};

namespace detail {
/// (to, from): row i averages from floor(i from / to) to below ceil((i + 1) from / to).
template <Element T, class D>
Tensor<T, D> averaging(std::int64_t from, std::int64_t to, const D& where) {
  auto m = zeros<T>({to, from});
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t begin = i * from / to, end = ((i + 1) * from + to - 1) / to;
    for (std::int64_t k = begin; k < end; ++k)
      m.data()[i * from + k] = static_cast<T>(1.0 / static_cast<double>(end - begin));
  }
  return m.template to<D>(where);
}
template <Element T, class D>
Tensor<T, D> adaptive_average(const Tensor<T, D>& x, const pair2d& to) {
  const std::int64_t height = x.size(-2), width = x.size(-1);
  if (to.height < 1 || to.width < 1 || height < 1 || width < 1)
    throw shape_error(message("AdaptiveAvgPool: images of shape ", x.sizes(), " and results of ", to,
                              ": all sizes must be 1 or more"));
  if (height % to.height == 0 && width % to.width == 0) return avg_pool2d(x, {height / to.height, width / to.width});
  // Windows of several sizes: a product for the rows, another for the columns.
  const D where(x.device());
  const Tensor<T, D> rows = matmul(averaging<T, D>(height, to.height, where), x);
  return matmul(rows, transpose(averaging<T, D>(width, to.width, where)));
}
}  // namespace detail

/// Averages of images over output_size windows: torch.nn.AdaptiveAvgPool2d.
struct AdaptiveAvgPool2d {
  pair2d output_size = 1;
  /// Throws shape_error for what is no image.
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::on_images<false>(*this, x,
                                    [&](const auto& images) { return detail::adaptive_average(images, output_size); });
  }
  std::string settings() const { return detail::settings_text("output_size", output_size); }
};
/// Averages of signals over output_size windows: torch.nn.AdaptiveAvgPool1d.
struct AdaptiveAvgPool1d {
  std::int64_t output_size = 1;
  /// Throws shape_error for what is no signal.
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::on_images<true>(*this, x, [&](const auto& images) {
      return detail::adaptive_average(images, {1, output_size});
    });
  }
  std::string settings() const { return detail::settings_text("output_size", output_size); }
};

}  // namespace kiln::nn
