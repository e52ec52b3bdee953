// SPDX-License-Identifier: BSL-1.0
// conv2d with the channel as the last axis against plain double loops, on any device.
#pragma once

#include <kiln/autograd/backward.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/tensor/views.hpp>

#include <doctest/doctest.h>

#include <vector>

#include "images.hpp"

namespace images {

/// Values and gradients of images (n, h, w, c) and kernels (o, kh, kw, c / groups); they are permuted for a convolution
/// with channels first.
template <class T, class Device>
void compare_channels_last(const dims& x_sizes, const dims& w_sizes, conv2d_options how,
                           image_layout layout = image_layout::channels_last) {
  CAPTURE(x_sizes);
  CAPTURE(w_sizes);
  how.layout = layout;
  const Tensor<T> x_here = grainy<T>(x_sizes, 1), w_here = grainy<T>(w_sizes, 2), b_here = grainy<T>({w_sizes[0]}, 3);
  auto x = x_here.template to<Device>(), w = w_here.template to<Device>(), b = b_here.template to<Device>();
  x.requires_grad(), w.requires_grad(), b.requires_grad();
  const dims second{0, 3, 1, 2}, last{0, 2, 3, 1};
  const Tensor<T, Device> y =
      layout == image_layout::channels_last
          ? Tensor<T, Device>(conv2d(x, w, b, how))
          : Tensor<T, Device>(permute(conv2d(permute(x, second), permute(w, second), b, how), last));
  const Tensor<T> g = grainy<T>(y.sizes(), 4);
  const auto X = values(x_here), W = values(w_here), B = values(b_here), G = values(g);
  std::vector<double> Y(G.size()), dx(X.size()), dw(W.size()), db(B.size());
  const std::int64_t out = w_sizes[0], kh = w_sizes[1], kw = w_sizes[2], per = w_sizes[3];
  for (std::size_t to = 0; to < G.size(); ++to) {
    const auto place = static_cast<std::int64_t>(to);
    const std::int64_t o = place % out, j = place / out % y.size(2), i = place / out / y.size(2) % y.size(1),
                       n = place / out / y.size(2) / y.size(1);
    Y[to] = B[static_cast<std::size_t>(o)];
    db[static_cast<std::size_t>(o)] += G[to];
    for (std::int64_t p = 0; p < kh; ++p)
      for (std::int64_t q = 0; q < kw; ++q)
        for (std::int64_t c = 0; c < per; ++c) {
          const std::int64_t row = i * how.stride.height + p * how.dilation.height - how.padding.height,
                             col = j * how.stride.width + q * how.dilation.width - how.padding.width;
          if (row < 0 || row >= x_sizes[1] || col < 0 || col >= x_sizes[2]) continue;
          const auto from = static_cast<std::size_t>(((n * x_sizes[1] + row) * x_sizes[2] + col) * x_sizes[3] +
                                                     o / (out / how.groups) * per + c),
                     by = static_cast<std::size_t>(((o * kh + p) * kw + q) * per + c);
          Y[to] += X[from] * W[by];
          dx[from] += G[to] * W[by];
          dw[by] += G[to] * X[from];
        }
  }
  const double tolerance = 2 * rounding<T>();
  const auto here = [](const auto& t) { return Tensor<T>(t.detach().template to<Cpu>()); };
  CHECK(wrong(here(y), Y, tolerance) == 0);
  backward(y, g.template to<Device>());
  CHECK(wrong(here(x.grad()), dx, tolerance) == 0);
  CHECK(wrong(here(w.grad()), dw, tolerance) == 0);
  CHECK(wrong(here(b.grad()), db, tolerance) == 0);
}

}  // namespace images
