// SPDX-License-Identifier: BSL-1.0
// Convolution, pooling, batch norm and attention on any device: sums and gradients that can be had by hand.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <kiln/kiln.hpp>
#include <kiln/nn/functional/attention.hpp>

#include "support/device_indexing.hpp"

namespace device_test {

template <class Device>
void check_convolution() {
  using on_device = Tensor<float, Device>;
  on_device x = arange<float, Device>(9).reshape({1, 1, 3, 3}), w = on_device{1, 0, 0, -1}.reshape({1, 1, 2, 2}),
            b{0.5f};
  x.requires_grad(), w.requires_grad(), b.requires_grad();
  const on_device y = conv2d(x, w, b);
  CHECK(values(y) == list{-3.5, -3.5, -3.5, -3.5});
  backward(sum(y));
  CHECK(values(b.grad()) == list{4});
  CHECK(values(w.grad()) == list{0 + 1 + 3 + 4, 1 + 2 + 4 + 5, 3 + 4 + 6 + 7, 4 + 5 + 7 + 8});
  CHECK(values(x.grad()) == list{1, 1, 0, 1, 0, -1, 0, -1, -1});
}

template <class Device>
void check_pooling() {
  using on_device = Tensor<float, Device>;
  on_device x = on_device{{1, 5, 2, 0}, {3, 4, 8, 7}}.reshape({1, 1, 2, 4});
  x.requires_grad();
  CHECK(values(max_pool2d(x, 2)) == list{5, 8});
  CHECK(values(avg_pool2d(x, 2)) == list{3.25, 4.25});
  backward(sum(max_pool2d(x, 2)));
  CHECK(values(x.grad()) == list{0, 1, 0, 0, 0, 0, 1, 0});
  x.zero_grad();
  backward(sum(avg_pool2d(x, 2)));
  CHECK(values(x.grad()) == list(8, 0.25));
}

// A batch norm in training by plain loops, and the gradients of sum(y * dy).
struct normalised {
  list y, mean, unbiased, dx, dweight, dbias;
};
inline normalised by_definition(const list& x, std::size_t batch, std::size_t channels, const list& w, const list& b,
                                const list& dy, double eps) {
  const std::size_t image = x.size() / batch / channels;
  const double n = static_cast<double>(batch * image);
  normalised r{list(x.size()), list(channels), list(channels), list(x.size()), list(channels), list(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    const auto each = [&](auto f) {
      for (std::size_t i = 0; i < x.size(); ++i)
        if (i / image % channels == c) f(i);
    };
    double squares = 0;
    each([&](std::size_t i) { r.mean[c] += x[i] / n; });
    each([&](std::size_t i) { squares += (x[i] - r.mean[c]) * (x[i] - r.mean[c]); });
    r.unbiased[c] = squares / (n - 1);
    const double by = 1 / std::sqrt(squares / n + eps);
    each([&](std::size_t i) {
      r.y[i] = (x[i] - r.mean[c]) * by * w[c] + b[c];
      r.dweight[c] += dy[i] * (x[i] - r.mean[c]) * by;
      r.dbias[c] += dy[i];
    });
    each([&](std::size_t i) {
      r.dx[i] = w[c] * by * (dy[i] - r.dbias[c] / n - (x[i] - r.mean[c]) * by * r.dweight[c] / n);
    });
  }
  return r;
}
inline list waves(std::size_t n, double phase) {
  list out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(static_cast<double>(static_cast<float>(2 * std::sin(phase + 1.7 * static_cast<double>(i)))));
  return out;
}
template <class Device>
Tensor<float, Device> on_device(const list& values, const dims& sizes) {
  Tensor<float> here = empty<float>(sizes);
  for (std::size_t i = 0; i < values.size(); ++i) here.data()[i] = static_cast<float>(values[i]);
  return here.to<Device>();
}
template <Expression X>
bool close(const X& got, const list& wanted, double factor = 1) {
  const list g = values(got);
  bool same = g.size() == wanted.size();
  for (std::size_t i = 0; same && i < g.size(); ++i)
    same = std::abs(g[i] - factor * wanted[i]) <= 2e-5 * std::max(1.0, std::abs(wanted[i]));
  return same;
}

/// In training, with its gradients, which add up.
template <class Device>
void check_batch_norm(const dims& sizes) {
  using tensor = Tensor<float, Device>;
  CAPTURE(sizes);
  const std::size_t channels = static_cast<std::size_t>(sizes[1]), n = static_cast<std::size_t>(count(sizes));
  const list X = waves(n, 1), W = waves(channels, 2), B = waves(channels, 3), G = waves(n, 4);
  tensor x = on_device<Device>(X, sizes), w = on_device<Device>(W, {sizes[1]}), b = on_device<Device>(B, {sizes[1]});
  tensor mean = on_device<Device>(list(channels, 1), {sizes[1]}),
         variance = on_device<Device>(list(channels, 1), {sizes[1]});
  const normalised wanted = by_definition(X, static_cast<std::size_t>(sizes[0]), channels, W, B, G, 0.1);
  const batch_norm_options how{.training = true, .momentum = 0.25, .eps = 0.1};
  CHECK(close(batch_norm(x, mean, variance, w, b, how), wanted.y));  // nothing to record
  x.requires_grad(), b.requires_grad();
  const tensor y = batch_norm(x, mean, variance, w, b, how);
  CHECK(close(y, wanted.y));
  for (std::size_t c = 0; c < channels; ++c) {  // updated twice
    CHECK(values(mean)[c] == doctest::Approx(0.5625 + 0.4375 * wanted.mean[c]).epsilon(1e-5));
    CHECK(values(variance)[c] == doctest::Approx(0.5625 + 0.4375 * wanted.unbiased[c]).epsilon(1e-5));
  }
  const tensor g = on_device<Device>(G, sizes);
  backward(y, g);
  CHECK(close(x.grad(), wanted.dx));
  CHECK(close(b.grad(), wanted.dbias));
  CHECK_FALSE(w.has_grad());
  w.requires_grad();
  backward(batch_norm(x, mean, variance, w, b, how), g);
  CHECK(close(x.grad(), wanted.dx, 2));
  CHECK(close(b.grad(), wanted.dbias, 2));
  CHECK(close(w.grad(), wanted.dweight));
  backward(batch_norm(x.detach(), mean, variance, w, b, how), g);
  CHECK(close(x.grad(), wanted.dx, 2));
  CHECK(close(w.grad(), wanted.dweight, 2));
}

template <class Device>
void check_attention() {
  using tensor = Tensor<float, Device>;
  // Queries of zeros see all keys alike. Views, as layers have them: (batch, time, heads, width) with the axes swapped.
  tensor q = zeros<float, Device>({1, 2, 2, 3}), k = on_device<Device>(waves(24, 1), {1, 4, 2, 3}),
         v = arange<float, Device>(16).reshape({1, 4, 2, 2});
  q.requires_grad(), k.requires_grad(), v.requires_grad();
  const Tensor<bool, Device> seen = Tensor<bool>{true, true, false, true}.to<Device>();
  const auto attend = [&] {
    return scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                        {.causal = true, .mask = seen});
  };
  const tensor y = attend();
  CHECK(values(y) == list{0, 1, 2, 3, 2, 3, 4, 5});  // the first key, the mean of the first two, of each head
  backward(sum(y));
  CHECK(values(v.grad()) == list{1.5, 1.5, 1.5, 1.5, .5, .5, .5, .5, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(values(k.grad()) == list(24, 0));
  const list keys = values(k), dq = values(q.grad());
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(dq[i] == 0);  // who sees one key alone cannot change it
    // d (mean of v) / dq = sum over two keys of (v - mean) k / (2 sqrt 3); v - mean are -2 and 2, twice.
    CHECK(dq[6 + i] == doctest::Approx((keys[6 + i] - keys[i]) * 2 / std::sqrt(3.0)).epsilon(1e-5));
  }
  backward(sum(attend()));  // added to what is there
  CHECK(values(v.grad())[0] == 3);
}

}  // namespace device_test
