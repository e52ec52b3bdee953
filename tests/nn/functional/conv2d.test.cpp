// SPDX-License-Identifier: BSL-1.0
// conv2d against plain double loops, its gradients against loops and finite differences.
#include <kiln/nn/functional/conv2d.hpp>

#include <doctest/doctest.h>

#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/check_gradient.hpp>
#include <kiln/expr/reductions.hpp>

#include "channels_last.hpp"
#include "images.hpp"

using namespace kiln;
using images::grainy, images::values, images::wrong;

namespace {

struct loops {
  std::vector<double> y, dx, dw, db;
};

// y = x * w + bias and the gradients of sum(g * y), by the definition.
template <class T>
loops by_definition(const Tensor<T>& x, const Tensor<T>& w, const Tensor<T>& bias, const Tensor<T>& g,
                    const conv2d_options& o) {
  const auto X = values(x), W = values(w), B = values(bias), G = values(g);
  const std::int64_t n = x.sizes()[0], c = x.sizes()[1], h = x.sizes()[2], wd = x.sizes()[3];
  const std::int64_t out = w.sizes()[0], per = w.sizes()[1], kh = w.sizes()[2], kw = w.sizes()[3];
  const std::int64_t oh = g.sizes()[2], ow = g.sizes()[3];
  loops r{std::vector<double>(G.size()), std::vector<double>(X.size()), std::vector<double>(W.size()),
          std::vector<double>(B.size())};
  auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t b = 0; b < n; ++b)
    for (std::int64_t f = 0; f < out; ++f)
      for (std::int64_t i = 0; i < oh; ++i)
        for (std::int64_t j = 0; j < ow; ++j) {
          const std::size_t to = at(((b * out + f) * oh + i) * ow + j);
          r.y[to] = B[at(f)];
          r.db[at(f)] += G[to];
          for (std::int64_t q = 0; q < per; ++q)
            for (std::int64_t p = 0; p < kh; ++p)
              for (std::int64_t s = 0; s < kw; ++s) {
                const std::int64_t row = i * o.stride.height + p * o.dilation.height - o.padding.height;
                const std::int64_t col = j * o.stride.width + s * o.dilation.width - o.padding.width;
                if (row < 0 || row >= h || col < 0 || col >= wd) continue;
                const std::int64_t channel = f / (out / o.groups) * per + q;
                const std::size_t from = at(((b * c + channel) * h + row) * wd + col);
                const std::size_t weight = at(((f * per + q) * kh + p) * kw + s);
                r.y[to] += X[from] * W[weight];
                r.dx[from] += G[to] * W[weight];
                r.dw[weight] += G[to] * X[from];
              }
        }
  return r;
}

// Compares values and gradients; the operands' elements are exact, so that only the result is rounded.
template <class T>
void compare(const dims& x_sizes, const dims& w_sizes, const conv2d_options& o) {
  CAPTURE(x_sizes);
  CAPTURE(w_sizes);
  Tensor<T> x = grainy<T>(x_sizes, 1), w = grainy<T>(w_sizes, 2), bias = grainy<T>({w_sizes[0]}, 3);
  x.requires_grad(), w.requires_grad(), bias.requires_grad();
  const Tensor<T> y = conv2d(x, w, bias, o);
  const Tensor<T> g = grainy<T>(y.sizes(), 4);
  const loops expected = by_definition(x, w, bias, g, o);
  const double tolerance = images::rounding<T>();
  CHECK(wrong(y, expected.y, tolerance) == 0);
  backward(y, g);
  CHECK(wrong(x.grad(), expected.dx, tolerance) == 0);
  CHECK(wrong(w.grad(), expected.dw, tolerance) == 0);
  CHECK(wrong(bias.grad(), expected.db, tolerance) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("conv2d and its gradients are what plain loops give", T, float, double, half, bfloat16) {
  compare<T>({2, 3, 7, 9}, {4, 3, 3, 3}, {});
  compare<T>({2, 3, 7, 9}, {4, 3, 3, 2}, {.stride = {2, 3}, .padding = {1, 2}});
  compare<T>({1, 4, 9, 8}, {6, 2, 3, 3}, {.padding = 2, .dilation = {2, 1}, .groups = 2});
  compare<T>({3, 5, 6, 6}, {5, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 5});
  compare<T>({2, 6, 5, 7}, {4, 6, 1, 1}, {});
}

TEST_CASE("conv2d: windows that reach far into the padding, and odd shapes") {
  compare<double>({1, 1, 1, 1}, {1, 1, 3, 3}, {.padding = 3});               // mostly padding
  compare<double>({1, 2, 3, 3}, {2, 2, 2, 2}, {.stride = 5, .padding = 4});  // whole windows of it
  compare<double>({1, 1, 4, 5}, {1, 1, 4, 5}, {});                           // one place
  compare<double>({2, 4, 5, 6}, {8, 2, 1, 1}, {.stride = 2, .groups = 2});   // 1 by 1 with a stride
  compare<double>({2, 4, 5, 6}, {8, 2, 1, 1}, {.padding = 1, .groups = 2});  // and with padding
  compare<double>({2, 4, 5, 6}, {4, 1, 1, 1}, {.groups = 4});
  compare<double>({1, 1, 2, 40}, {1, 1, 1, 7}, {.dilation = {9, 6}});
  compare<double>({2, 2, 3, 40}, {3, 2, 2, 3}, {.stride = {1, 7}, .padding = {0, 1}, .dilation = {1, 3}});
}

TEST_CASE("conv2d in several pieces, on one thread and on more") {
  const int before = num_threads();
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    compare<float>({1, 16, 40, 50}, {12, 16, 3, 3}, {.padding = 1});
    compare<float>({5, 8, 20, 30}, {8, 8, 3, 3}, {.padding = 1});
    compare<float>({2, 96, 12, 11}, {16, 48, 5, 5}, {.padding = 2, .groups = 2});
  }
  set_num_threads(before);
}

TEST_CASE_TEMPLATE("conv2d with channels last is what plain loops give", T, float, bfloat16) {
  images::compare_channels_last<T, Cpu>({2, 7, 9, 4}, {6, 3, 2, 2}, {.stride = {2, 1}, .padding = 1, .groups = 2});
  images::compare_channels_last<T, Cpu>({1, 3, 4, 5}, {2, 1, 1, 5}, {});
}

TEST_CASE("conv2d with channels last says what does not fit") {
  const Tensor<float> x = zeros({1, 4, 4, 3}), w = zeros({2, 3, 3, 3}), first = zeros({2, 3, 3, 4});
  const conv2d_options how{.layout = image_layout::channels_last};
  CHECK_THROWS_WITH_AS(conv2d(x, first, how),
                       doctest::Contains("[1, 4, 4, 3] and kernels of shape [2, 3, 3, 4] in 1 groups, channels last"),
                       shape_error);
  CHECK_THROWS_WITH_AS(conv2d(x, w, Tensor<float>{1}, how), doctest::Contains("the bias must be [2]"), shape_error);
  CHECK_THROWS_AS(conv2d(x, w, {.groups = 0, .layout = image_layout::channels_last}), value_error);
}

TEST_CASE("gradients of conv2d agree with finite differences") {
  const auto x = grainy<double>({2, 4, 5, 6}), w = grainy<double>({6, 2, 3, 2}), b = grainy<double>({6});
  const auto check = check_gradient(
      [](const auto& a, const auto& k, const auto& c) {
        return conv2d(a, k, c, {.stride = {2, 1}, .padding = 1, .dilation = {1, 2}, .groups = 2});
      },
      x, w, b);
  CHECK_MESSAGE(check.agrees, check.text);
}

TEST_CASE("operands of any layout, and expressions") {
  const auto x = grainy<double>({2, 3, 6, 5}), w = grainy<double>({4, 3, 2, 2}), b = grainy<double>({4});
  const auto g = grainy<double>({2, 4, 5, 4}, 9);
  const loops expected = by_definition(x, w, b, g, {});
  Tensor<double> turned = x.permute({3, 2, 1, 0}).clone().permute({3, 2, 1, 0});  // the same values, other strides
  Tensor<double> kernels = w.transpose(0, 3).clone().transpose(0, 3), long_bias = zeros<double>({8});
  long_bias.slice(0, 0, 8, 2).copy_(b);
  Tensor<double> bias = long_bias.slice(0, 0, 8, 2);
  turned.requires_grad(), kernels.requires_grad(), bias.requires_grad();
  backward(conv2d(turned, kernels, bias), g);
  CHECK(wrong(conv2d(turned, kernels, bias), expected.y, 1e-14) == 0);
  CHECK(wrong(turned.grad(), expected.dx, 1e-14) == 0);
  CHECK(wrong(kernels.grad(), expected.dw, 1e-14) == 0);
  CHECK(wrong(bias.grad(), expected.db, 1e-14) == 0);

  // One image for a whole batch, one kernel for all channels: gradients are summed.
  Tensor<double> one = grainy<double>({1, 3, 6, 5}, 5), kernel = grainy<double>({1, 1, 2, 2}, 6);
  one.requires_grad(), kernel.requires_grad();
  const Tensor<double> many = one.expand({2, 3, 6, 5}), all = kernel.expand({4, 3, 2, 2});
  const loops repeated = by_definition(many, all, b, g, {});
  backward(conv2d(many, all, b), g);
  std::vector<double> dx(90), dk(4);
  for (std::size_t i = 0; i < repeated.dx.size(); ++i) dx[i % 90] += repeated.dx[i];
  for (std::size_t i = 0; i < repeated.dw.size(); ++i) dk[i % 4] += repeated.dw[i];
  CHECK(wrong(one.grad(), dx, 1e-14) == 0);
  CHECK(wrong(kernel.grad(), dk, 1e-14) == 0);

  Tensor<double> plain = x.clone();
  plain.requires_grad();
  backward(conv2d(2 * plain, w - 1), g);
  const loops scaled = by_definition(Tensor<double>(2 * x), Tensor<double>(w - 1), zeros<double>({4}), g, {});
  std::vector<double> doubled = scaled.dx;
  for (double& v : doubled) v *= 2;
  CHECK(wrong(plain.grad(), doubled, 1e-14) == 0);
}

TEST_CASE("only gradients that are wanted are computed, and added to what is there") {
  Tensor<float> x = grainy<float>({1, 2, 4, 4}), w = grainy<float>({2, 2, 3, 3}), b = grainy<float>({2});
  const auto g = grainy<float>({1, 2, 2, 2}, 7);
  CHECK_FALSE(conv2d(x, w, b).needs_grad());
  w.requires_grad();
  {
    const no_grad quiet;
    CHECK_FALSE(conv2d(x, w, b).needs_grad());
  }
  const loops expected = by_definition(x, w, b, g, {});
  backward(conv2d(x, w, b), g);
  backward(conv2d(x, w), g);
  std::vector<double> twice = expected.dw;
  for (double& v : twice) v *= 2;
  CHECK(wrong(w.grad(), twice, 1e-6) == 0);
  CHECK_FALSE(x.has_grad());
  // One tensor as both operands.
  Tensor<float> both = grainy<float>({2, 2, 3, 3}, 8);
  both.requires_grad();
  const auto g1 = grainy<float>({2, 2, 1, 1}, 9);
  const loops own = by_definition(both, both, zeros<float>({2}), g1, {});
  backward(conv2d(both, both), g1);
  std::vector<double> sum = own.dx;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own.dw[i];
  CHECK(wrong(both.grad(), sum, 1e-6) == 0);
}

TEST_CASE("a half gradient is rounded once, after it was added") {
  Tensor<half> x = grainy<half>({1, 1, 3, 3}), w = grainy<half>({1, 1, 2, 2});
  w.requires_grad();
  const auto g = grainy<half>({1, 1, 2, 2}, 7);
  const loops expected = by_definition(x, w, zeros<half>({1}), g, {});
  backward(conv2d(x, w), g);
  backward(conv2d(x, w), g);
  std::vector<double> twice = expected.dw;
  for (double& v : twice) v *= 2;
  CHECK(wrong(w.grad(), twice, images::rounding<half>()) == 0);
}

TEST_CASE("a batch of none and channels of none") {
  Tensor<float> x = zeros<float>({0, 3, 5, 5}), w = grainy<float>({4, 3, 3, 3}), b = grainy<float>({4});
  x.requires_grad(), w.requires_grad(), b.requires_grad();
  const Tensor<float> y = conv2d(x, w, b);
  CHECK(y.sizes() == dims{0, 4, 3, 3});
  backward(sum(y));
  CHECK(x.grad().sizes() == dims{0, 3, 5, 5});
  CHECK(wrong(w.grad(), std::vector<double>(108), 0) == 0);
  CHECK(wrong(b.grad(), std::vector<double>(4), 0) == 0);
  CHECK(conv2d(zeros<float>({2, 3, 5, 5}), zeros<float>({0, 3, 3, 3})).sizes() == dims{2, 0, 3, 3});
  const Tensor<float> only_bias = conv2d(zeros<float>({2, 0, 5, 5}), zeros<float>({4, 0, 3, 3}), b);
  CHECK(only_bias(1, 2, 0, 0) == b(2));
}

TEST_CASE("values that a backward pass needs must not have changed") {
  Tensor<float> x = grainy<float>({1, 1, 3, 3}), w = grainy<float>({1, 1, 2, 2});
  w.requires_grad();
  const Tensor<float> y = conv2d(x, w);
  x.fill_(1);
  CHECK_THROWS_AS(backward(sum(y)), graph_error);
  const Tensor<float> z = conv2d(x, w);
  backward(sum(z));
  CHECK_THROWS_AS(backward(sum(z)), graph_error);  // freed
}

TEST_CASE("operands and options that do not fit are named") {
  const auto x = zeros<float>({2, 4, 5, 6}), w = zeros<float>({8, 4, 3, 3}), b = zeros<float>({8});
  CHECK_THROWS_WITH_AS(
      conv2d(x, zeros<float>({8, 3, 3, 3})),
      "conv2d: images of shape [2, 4, 5, 6] and kernels of shape [8, 3, 3, 3] in 1 groups: the kernels "
      "must have 4 input channels (the images' channels divided by the groups), not 3",
      shape_error);
  CHECK_THROWS_WITH_AS(
      conv2d(x, zeros<float>({8, 4, 3, 7})),
      "conv2d: a kernel of (3, 7) with dilation (1, 1) reaches over (3, 7), more than the images of shape [2, 4, 5, 6] "
      "have with a padding of (0, 0): pad more, or use a smaller kernel",
      shape_error);
  CHECK_THROWS_AS(conv2d(x, w, {.dilation = {1, 3}}), shape_error);
  CHECK_NOTHROW(conv2d(x, w, {.padding = {0, 1}, .dilation = {1, 3}}));
  CHECK_THROWS_WITH_AS(
      conv2d(x, w, zeros<float>({4})),
      "conv2d: kernels of shape [8, 4, 3, 3] and a bias of shape [4]: the bias must be [8], one number "
      "for each output channel",
      shape_error);
  CHECK_THROWS_AS(conv2d(x, w, b, {.groups = 3}), shape_error);
  CHECK_THROWS_AS(conv2d(x, w, b, {.groups = 4}), shape_error);
  CHECK_THROWS_AS(conv2d(zeros<float>({4, 5, 6}), w), shape_error);
  CHECK_THROWS_AS(conv2d(x, zeros<float>({4, 3, 3})), shape_error);
  CHECK_THROWS_AS(conv2d(x, zeros<float>({8, 4, 0, 3})), shape_error);
  CHECK_THROWS_AS(conv2d(x, w, {.groups = 0}), value_error);
  CHECK_THROWS_WITH_AS(conv2d(x, w, {.stride = {1, 0}}), "conv2d: a stride of (1, 0): use numbers from 1 to 2147483647",
                       value_error);
  CHECK_THROWS_AS(conv2d(x, w, {.padding = -1}), value_error);
  CHECK_THROWS_AS(conv2d(x, w, {.dilation = 0}), value_error);
  CHECK_THROWS_AS(conv2d(x, w, {.padding = std::int64_t{1} << 40}), value_error);
  CHECK_THROWS_AS(conv2d(Tensor<float>(), w), value_error);
}
