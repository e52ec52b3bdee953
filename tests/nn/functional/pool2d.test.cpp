// SPDX-License-Identifier: BSL-1.0
// max_pool2d and avg_pool2d against plain double loops, their gradients against loops and finite differences.
#include <kiln/nn/functional/pool2d.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/check_gradient.hpp>
#include <kiln/expr/reductions.hpp>

#include "images.hpp"

using namespace kiln;
using images::grainy, images::values, images::wrong;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct loops {
  std::vector<double> y, dx;
  std::int64_t rows, columns;
};

// How many windows fit: counted, one by one.
std::int64_t counted(std::int64_t size, std::int64_t reach, std::int64_t stride, std::int64_t padding, bool ceil) {
  std::int64_t n = 0;
  for (std::int64_t at = -padding;; at += stride, ++n) {
    const bool inside = at + reach <= size + padding;
    // Rounded up: one more window may reach over the far edge, if it begins before the padding there.
    const bool over = ceil && at < size && at - stride + reach < size + padding;
    if (!inside && !(over && n > 0)) return n;
  }
}

enum class kind { largest, average, average_without_padding };

// The pooling and the gradient of sum(g * y) with g = 1, 2, 3 ... modulo 5, by the definition.
template <class T>
loops by_definition(const Tensor<T>& x, pair2d k, pair2d stride, pair2d pad, pair2d dilation, bool ceil, kind what,
                    double divisor = 0) {
  const auto X = values(x);
  const std::int64_t planes = x.sizes()[0] * x.sizes()[1], h = x.sizes()[2], w = x.sizes()[3];
  loops r{{}, std::vector<double>(X.size()), 0, 0};
  r.rows = counted(h, (k.height - 1) * dilation.height + 1, stride.height, pad.height, ceil);
  r.columns = counted(w, (k.width - 1) * dilation.width + 1, stride.width, pad.width, ceil);
  for (std::int64_t p = 0; p < planes; ++p)
    for (std::int64_t i = 0; i < r.rows; ++i)
      for (std::int64_t j = 0; j < r.columns; ++j) {
        double best = -infinity, sum = 0, inside = 0, with_padding = 0;
        std::vector<std::size_t> at;
        std::size_t first = X.size();
        for (std::int64_t a = 0; a < k.height; ++a)
          for (std::int64_t b = 0; b < k.width; ++b) {
            const std::int64_t row = i * stride.height - pad.height + a * dilation.height;
            const std::int64_t col = j * stride.width - pad.width + b * dilation.width;
            if (row < h + pad.height && col < w + pad.width) ++with_padding;
            if (row < 0 || row >= h || col < 0 || col >= w) continue;
            ++inside;
            at.push_back(static_cast<std::size_t>((p * h + row) * w + col));
            const double v = X[at.back()];
            sum += v;
            if (!std::isnan(best) && (v > best || std::isnan(v))) best = v, first = at.back();
            if (first == X.size()) first = at.back();
          }
        const double g = static_cast<double>(r.y.size() % 5 + 1);
        if (what == kind::largest) {
          r.y.push_back(best);
          if (first < X.size()) r.dx[first] += g;
        } else {
          const double n = divisor != 0 ? divisor : what == kind::average ? with_padding : inside;
          r.y.push_back(sum / n);
          for (std::size_t q : at) r.dx[q] += g / n;
        }
      }
  return r;
}

template <class T>
Tensor<T> counting(const dims& sizes) {
  Tensor<T> g = empty<T>(sizes);
  for (std::int64_t i = 0; i < g.numel(); ++i) g.data()[i] = static_cast<T>(static_cast<float>(i % 5 + 1));
  return g;
}

template <class T>
void compare(Tensor<T> x, const Tensor<T>& y, const loops& expected, double tolerance) {
  CHECK(y.sizes() == dims{x.sizes()[0], x.sizes()[1], expected.rows, expected.columns});
  CHECK(wrong(y, expected.y, tolerance) == 0);
  backward(y, counting<T>(y.sizes()));
  CHECK(wrong(x.grad(), expected.dx, tolerance) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("max_pool2d is what plain loops give", T, float, double, half, bfloat16) {
  struct form {
    dims sizes;
    pair2d kernel;
    max_pool2d_options how;
  };
  const std::vector<form> forms{
      {{2, 3, 8, 8}, 2, {}},
      {{1, 2, 9, 37}, {3, 2}, {.stride = {2, 1}}},
      {{1, 2, 7, 70}, 3, {.stride = 2, .padding = 1}},
      {{1, 2, 8, 11}, {2, 3}, {.stride = 3, .padding = {1, 0}, .dilation = {2, 3}}},
      {{2, 1, 5, 6}, 2, {.ceil_mode = true}},
      {{2, 1, 6, 7}, 3, {.stride = 5, .padding = 1, .ceil_mode = true}},
      {{1, 1, 1, 1}, {2, 2}, {.padding = 2, .dilation = 3}},  // a window that holds nothing
      {{1, 1, 4, 1}, {4, 1}, {}},
  };
  for (const form& f : forms) {
    CAPTURE(f.sizes);
    Tensor<T> x = grainy<T>(f.sizes);  // with many equal elements
    x.requires_grad();
    const pair2d stride = f.how.stride == kernel_as_stride ? f.kernel : f.how.stride;
    compare(x, max_pool2d(x, f.kernel, f.how),
            by_definition(x, f.kernel, stride, f.how.padding, f.how.dilation, f.how.ceil_mode, kind::largest), 0);
  }
}

TEST_CASE_TEMPLATE("avg_pool2d is what plain loops give", T, float, double, half, bfloat16) {
  struct form {
    dims sizes;
    pair2d kernel;
    avg_pool2d_options how;
  };
  const std::vector<form> forms{
      {{2, 3, 8, 8}, 2, {}},
      {{1, 2, 9, 37}, {3, 2}, {.stride = {2, 1}}},
      {{1, 2, 7, 70}, 3, {.stride = 2, .padding = 1}},
      {{1, 2, 7, 7}, 3, {.stride = 2, .padding = 1, .count_include_pad = false}},
      {{2, 1, 5, 6}, 2, {.padding = 1, .ceil_mode = true}},
      {{2, 1, 6, 7}, {4, 3}, {.stride = 3, .padding = 1, .ceil_mode = true, .count_include_pad = false}},
      {{2, 1, 6, 7}, {4, 3}, {.stride = 5, .padding = {2, 1}, .ceil_mode = true}},
      {{2, 1, 6, 7}, 3, {.padding = 1, .divisor_override = 7}},
  };
  for (const form& f : forms) {
    CAPTURE(f.sizes);
    Tensor<T> x = grainy<T>(f.sizes);
    x.requires_grad();
    const pair2d stride = f.how.stride == kernel_as_stride ? f.kernel : f.how.stride;
    compare(x, avg_pool2d(x, f.kernel, f.how),
            by_definition(x, f.kernel, stride, f.how.padding, 1, f.how.ceil_mode,
                          f.how.count_include_pad ? kind::average : kind::average_without_padding,
                          static_cast<double>(f.how.divisor_override.value_or(0))),
            2 * images::rounding<T>());
  }
}

TEST_CASE("stored results of ceil_mode") {
  // 5 columns under windows of 2: the last window holds one element.
  const Tensor<float> x = arange<float>(10).reshape({1, 1, 2, 5});
  const Tensor<float> m = max_pool2d(x, 2, {.ceil_mode = true}), a = avg_pool2d(x, 2, {.ceil_mode = true});
  CHECK(wrong(m, {6, 8, 9}, 0) == 0);
  CHECK(wrong(a, {3, 5, 6.5}, 0) == 0);  // not half of it: what lies beyond the edge is no padding
  CHECK(max_pool2d(x, 2).sizes() == dims{1, 1, 1, 2});
}

TEST_CASE("a nan under the window is the largest, and gets the gradient") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int place = 0; place < 9; ++place) {
    Tensor<double> x = grainy<double>({1, 1, 3, 3});
    x.data()[place] = nan;
    x.requires_grad();
    const Tensor<double> y = max_pool2d(x, 3);
    CHECK(std::isnan(y.item()));
    backward(sum(y));
    for (int i = 0; i < 9; ++i) CHECK(x.grad().data()[i] == (i == place ? 1 : 0));
  }
  Tensor<float> low = full<float>({1, 1, 2, 2}, -std::numeric_limits<float>::infinity());
  low.requires_grad();
  const Tensor<float> y = max_pool2d(low, 2);
  CHECK(std::isinf(y.item()));
  backward(sum(y));
  CHECK(wrong(low.grad(), {1, 0, 0, 0}, 0) == 0);
}

TEST_CASE("gradients of poolings agree with finite differences") {
  Tensor<double> x = empty<double>({2, 2, 5, 6});
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data()[i] = static_cast<double>(i * 37 % 120) / 10;  // all different
  const auto largest = check_gradient(
      [](const auto& v) {
        return max_pool2d(v, 3, {.stride = {2, 1}, .padding = 1, .ceil_mode = true});
      },
      x);
  CHECK_MESSAGE(largest.agrees, largest.text);
  const auto average = check_gradient(
      [](const auto& v) {
        return avg_pool2d(v, {2, 3}, {.stride = 2, .padding = 1, .count_include_pad = false});
      },
      x);
  CHECK_MESSAGE(average.agrees, average.text);
}

TEST_CASE("operands of any layout, expressions, gradients that add up, batches of none") {
  const auto x = grainy<float>({2, 3, 6, 4});
  Tensor<float> turned = x.permute({3, 0, 2, 1}).clone().permute({1, 3, 2, 0});
  turned.requires_grad();
  const loops expected = by_definition(x, 2, 2, 0, 1, false, kind::largest);
  compare(turned, max_pool2d(turned, 2), expected, 0);
  backward(max_pool2d(-(-turned), 2), counting<float>({2, 3, 3, 2}));
  backward(avg_pool2d(turned, {6, 4}), zeros<float>({2, 3, 1, 1}));
  std::vector<double> twice = expected.dx;
  for (double& v : twice) v *= 2;
  CHECK(wrong(turned.grad(), twice, 0) == 0);

  Tensor<half> h = grainy<half>({1, 1, 4, 4});
  h.requires_grad();
  const loops half_expected = by_definition(h, 3, 1, 0, 1, false, kind::average);
  for (int i = 0; i < 2; ++i) backward(avg_pool2d(h, 3, {.stride = 1}), counting<half>({1, 1, 2, 2}));
  twice = half_expected.dx;
  for (double& v : twice) v *= 2;
  CHECK(wrong(h.grad(), twice, 2 * images::rounding<half>()) == 0);

  Tensor<float> none = zeros<float>({0, 3, 4, 4});
  none.requires_grad();
  backward(sum(max_pool2d(none, 2)) + sum(avg_pool2d(none, 2)));
  CHECK(none.grad().sizes() == dims{0, 3, 4, 4});
  const no_grad quiet;
  CHECK_FALSE(max_pool2d(turned, 2).needs_grad());
}

TEST_CASE("on several threads") {
  const int before = num_threads();
  set_num_threads(3);
  Tensor<float> x = grainy<float>({4, 16, 41, 50});
  x.requires_grad();
  compare(x, max_pool2d(x, 3, {.stride = 2, .padding = 1}), by_definition(x, 3, 2, 1, 1, false, kind::largest), 0);
  x.zero_grad();
  compare(x, avg_pool2d(x, 3, {.stride = 2, .padding = 1}), by_definition(x, 3, 2, 1, 1, false, kind::average), 1e-6);
  set_num_threads(before);
}

TEST_CASE("operands and options of poolings that do not fit are named") {
  const auto x = zeros<float>({2, 3, 5, 6});
  CHECK_THROWS_WITH_AS(
      max_pool2d(x, {6, 2}),
      "max_pool2d: a kernel of (6, 2) with dilation (1, 1) reaches over (6, 2), more than the images of "
      "shape [2, 3, 5, 6] have with a padding of (0, 0): pad more, or use a smaller kernel",
      shape_error);
  CHECK_THROWS_WITH_AS(
      max_pool2d(x, 2, {.padding = {1, 2}}),
      "max_pool2d: a padding of (1, 2) for a window that reaches over (2, 2): use at most half of that", value_error);
  CHECK_NOTHROW(max_pool2d(x, 2, {.padding = {1, 2}, .dilation = 3}));
  CHECK_THROWS_AS(max_pool2d(x, 2, {.stride = 0}), value_error);
  CHECK_THROWS_AS(avg_pool2d(x, 2, {.stride = {1, -1}}), value_error);
  CHECK_THROWS_AS(avg_pool2d(x, 2, {.padding = -1}), value_error);
  CHECK_THROWS_AS(max_pool2d(x, 2, {.dilation = 0}), value_error);
  CHECK_THROWS_AS(avg_pool2d(x, 0), shape_error);
  CHECK_THROWS_AS(avg_pool2d(x, 2, {.divisor_override = 0}), value_error);
  CHECK_THROWS_AS(max_pool2d(zeros<float>({3, 5, 6}), 2), shape_error);
  CHECK_THROWS_AS(avg_pool2d(zeros<float>({1, 3, 0, 6}), 2, {.padding = 1}), shape_error);
}

TEST_CASE("max_pool2d: of equal elements the first, of nans the last, forward and back") {
  const float none = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  auto check = [&](std::vector<float> image, std::int64_t columns, std::vector<float> want, bool negative) {
    Tensor<float> x = tensor(image).reshape({1, 1, static_cast<std::int64_t>(image.size()) / columns, columns}).clone();
    x.requires_grad();
    const Tensor<float> y = max_pool2d(x, {x.sizes()[2], columns});
    CHECK(std::signbit(y.detach().data()[0]) == negative);
    backward(Tensor<float>(sum(y)));
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(x.grad().data()[i] == want[i]);
  };
  check({-1, -0.0f, 0, -1}, 2, {0, 1, 0, 0}, true);
  check({-1, 0, -0.0f, -1}, 2, {0, 1, 0, 0}, false);
  check({-1, -1, 0, 0, 0, -0.0f, -1, -1, -1}, 3, {0, 0, 1, 0, 0, 0, 0, 0, 0}, false);
  check({-1, -1, -0.0f, 0, 0, 0, -1, -1, -1}, 3, {0, 0, 1, 0, 0, 0, 0, 0, 0}, true);
  check({2, 3, 3, 1}, 2, {0, 1, 0, 0}, false);
  check({none, 1, 0, none}, 2, {0, 0, 0, 1}, std::signbit(none));
  check({-inf, -inf, -inf, -inf}, 2, {1, 0, 0, 0}, true);
}

TEST_CASE("windows larger than the image, with ceil_mode") {
  const Tensor<float> x = ones({1, 1, 3, 3});
  CHECK(max_pool2d(x, 4, {.stride = 3, .ceil_mode = true}).sizes() == dims{1, 1, 1, 1});
  CHECK(avg_pool2d(x, 5, {.stride = 3, .ceil_mode = true}).data()[0] == 1);
  CHECK_THROWS_AS(max_pool2d(x, 5, {.stride = 2, .ceil_mode = true}), shape_error);
  CHECK_THROWS_AS(max_pool2d(x, 4), shape_error);
  // torch 2.15: avg_pool2d(ones(1, 1, 3, 3), 4, 3, 1, ceil_mode=True), and of ones(1, 1, 2, 2) with 3, 5, 1.
  const Tensor<float> y = avg_pool2d(x, 4, {.stride = 3, .padding = 1, .ceil_mode = true});
  const std::vector<float> want{0.5625f, 0.375f, 0.375f, 0.25f};
  for (std::size_t i = 0; i < 4; ++i) CHECK(y.data()[i] == want[i]);
  const Tensor<float> z = avg_pool2d(ones({1, 1, 2, 2}), 3, {.stride = 5, .padding = 1, .ceil_mode = true});
  CHECK(z.data()[0] == doctest::Approx(4.0 / 9));
}
