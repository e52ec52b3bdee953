// SPDX-License-Identifier: BSL-1.0
// Row programs over any axes of any layout: the ones that come with the library and ones that a user writes.
#include <doctest/doctest.h>

#include <numeric>

#include <kiln/device/cpu/rows/rows.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/views.hpp>
#include <support/compare.hpp>
#include <support/draw.hpp>

using namespace kiln;
using detail::untracked;
using test::difference;
using test::draw;
using test::lengths;
using test::naive;

namespace {

using row = std::vector<double>;
double mean_of(const row& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
double var_of(const row& v) {
  const double mean = mean_of(v);
  double s = 0;
  for (double x : v) s += (x - mean) * (x - mean);
  return s / static_cast<double>(v.size());
}
row softmax_of(row v) {
  const double most = v.empty() ? 0 : *std::max_element(v.begin(), v.end());
  double s = 0;
  for (double& x : v) s += x = std::exp(x - most);
  for (double& x : v) x /= s;
  return v;
}
row log_softmax_of(const row& v) {
  const double most = v.empty() ? 0 : *std::max_element(v.begin(), v.end());
  double s = 0;
  for (double x : v) s += std::exp(x - most);
  row r = v;
  for (double& x : r) x -= most + std::log(s);
  return r;
}
row layer_norm_of(row v, double eps) {
  const double m = mean_of(v), scale = 1 / std::sqrt(var_of(v) + eps);
  for (double& x : v) x = (x - m) * scale;
  return v;
}
row rms_norm_of(row v, double eps) {
  double s = 0;
  for (double x : v) s += x * x;
  for (double& x : v) x /= std::sqrt(s / static_cast<double>(v.size()) + eps);
  return v;
}

}  // namespace

TEST_CASE("rows: softmax and norms over random axes of random layouts, nested in other expressions") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const lengths s = d.shape(4, seed % 10 == 0 ? 60000 : 3000);
    const auto a = d.tensor<float>(s), b = d.tensor<float>(d.narrower(s));
    const std::uint32_t mask = d.axes(s.size());
    const axes over = test::axes_in(mask, s.size());
    CAPTURE(a.sizes());
    CAPTURE(a.strides());
    CAPTURE(b.sizes());
    CAPTURE(mask);
    const naive na = naive::of(a), nb = naive::of(b), ab = test::map([](double x, double y) { return x * y; }, na, nb);
    CHECK(difference(untracked(softmax(a, over)), test::along(softmax_of, na, mask), 3e-6) == "");
    CHECK(difference(untracked(2.0f * log_softmax(a * b, over) + b),
                     test::map([](double x, double y) { return 2 * x + y; }, test::along(log_softmax_of, ab, mask), nb),
                     2e-6, 3e-6) == "");
    CHECK(difference(untracked(layer_norm(a, over, 0.01) * b),
                     test::map(std::multiplies<>(),
                               test::along([](row v) { return layer_norm_of(std::move(v), 0.01); }, na, mask), nb),
                     2e-5, 1e-5) == "");
    CHECK(difference(untracked(rms_norm(cast<double>(a) + 1.0, over)),
                     test::along([](row v) { return rms_norm_of(std::move(v), 1e-6); },
                                 test::map([](double x) { return x + 1; }, na), mask),
                     1e-12, 1e-12) == "");
  }
}

TEST_CASE("rows: norms of the user's own, over the last axis and another, any length") {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 100, 1024, 1025, 4096, 4100, 9000, 40000}) {
    CAPTURE(n);
    draw d(static_cast<std::uint32_t>(n));
    for (const bool last : {true, false}) {
      const lengths s = last ? lengths{5, n} : lengths{n, 5};
      const std::int64_t axis = last ? -1 : 0;
      for (const bool plain : {true, false}) {
        const auto x = plain ? d.contiguous<float>(s) : d.anywhere<float>(s);
        const auto c = x - mean(x, axis, true);
        const Tensor<float> y = c * rsqrt(mean(square(c), axis, true) + 0.1f);
        CHECK(difference(
                  y, test::along([](row v) { return layer_norm_of(std::move(v), 0.1); }, naive::of(x), last ? 2 : 1),
                  3e-5, 1e-5) == "");
        Tensor<float> own = x.clone();
        own = own - mean(own, axis, true);
        const auto e = exp(x - max(x, axis, true));
        const Tensor<float> z = e / sum(e, axis, true);
        CHECK(difference(z, test::along(softmax_of, naive::of(x), last ? 2 : 1), 1e-5) == "");
      }
    }
  }
}

TEST_CASE("rows: expressions that one kernel cannot do are split, and right") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const std::int64_t m = d.integer(1, 40), n = d.integer(1, 40);
    const auto x = d.tensor<float>({m, n}), y = d.tensor<float>({m, n}), square_one = d.tensor<float>({n, n}),
               number = d.tensor<float>({});
    const naive nx = naive::of(x), ny = naive::of(y), ns = naive::of(square_one);
    auto mean_along = [](const naive& a, std::uint32_t mask, bool keep) {
      return test::reduce(mean_of, a, mask, keep);
    };
    const auto minus = std::minus<>();
    CHECK(difference(untracked(x - mean(y, -1, true)), test::map(minus, nx, mean_along(ny, 2, true)), 1e-5, 1e-6) ==
          "");
    CHECK(difference(untracked(x - mean(x)), test::map(minus, nx, mean_along(nx, 3, false)), 1e-5, 1e-6) == "");
    CHECK(difference(untracked(mean(x, 0) - mean(y, 1, true)),
                     test::map(minus, mean_along(nx, 1, false), mean_along(ny, 2, true)), 1e-5, 1e-6) == "");
    CHECK(difference(untracked(mean(x, 1) - mean(y, 1)),
                     test::map(minus, mean_along(nx, 2, false), mean_along(ny, 2, false)), 1e-5, 1e-6) == "");
    CHECK(difference(untracked(mean(x, 0) - mean(x, 0, true)), naive({1, n}), 0, 1e-6) == "");
    // A row mean without keepdim lines up with the columns: not what one kernel over rows computes.
    CHECK(difference(untracked(square_one - mean(square_one, -1)), test::map(minus, ns, mean_along(ns, 2, false)), 1e-5,
                     1e-6) == "");
    CHECK(difference(untracked(mean(mean(x, -1), 0)), mean_along(nx, 3, false), 1e-5, 1e-6) == "");
    CHECK(difference(untracked(mean(x * number, -1) * number),
                     test::map([&](double a) { return a * double(number.item()) * double(number.item()); },
                               mean_along(nx, 2, false)),
                     1e-5, 1e-6) == "");
    const naive soft = test::along(softmax_of, nx, 1), log_soft = test::along(log_softmax_of, ny, 2);
    CHECK(difference(untracked(softmax(x, 0) * log_softmax(y, 1)), test::map(std::multiplies<>(), soft, log_soft), 1e-5,
                     1e-6) == "");
    CHECK(difference(untracked(softmax(softmax(x, 0), 1)), test::along(softmax_of, soft, 2), 1e-5) == "");
    CHECK(difference(untracked(-mean(mean(log_softmax(y, 1) * x, 1))),
                     test::map([](double v) { return -v; },
                               mean_along(test::map(std::multiplies<>(), log_soft, nx), 3, false)),
                     1e-5, 1e-6) == "");
  }
}

TEST_CASE("rows: in place, with itself among the operands") {
  draw d(9);
  auto x = d.contiguous<float>({33, 70});
  const naive nx = naive::of(x);
  x -= mean(x, -1, true);
  CHECK(difference(x, test::map(std::minus<>(), nx, test::reduce(mean_of, nx, 2, true)), 1e-5, 1e-6) == "");
  auto turned = x.transpose(0, 1);
  const naive before = naive::of(turned);
  turned /= sum(exp(turned), 0, true);
  CHECK(difference(turned,
                   test::map(std::divides<>(), before,
                             test::reduce(
                                 [](const row& v) {
                                   double s = 0;
                                   for (double e : v) s += std::exp(e);
                                   return s;
                                 },
                                 before, 1, true)),
                   1e-5, 1e-6) == "");
  x = softmax(x);
  x = x - mean(x, -1, true);
  CHECK(std::abs(Tensor<float>(sum(x)).item()) < 1e-5);
}

TEST_CASE("rows: more of them than the cache holds") {
  const std::int64_t rows = 3001, columns = 1500;  // 18 MB in and out
  Tensor<float> x(new_tensor(dtype::float32, {rows, columns}));
  for (std::int64_t i = 0; i < rows * columns; ++i) x.data()[i] = static_cast<float>(i % 1013) * 0.01f;
  for (int threads : {1, 2}) {
    cpu::set_num_threads(threads);
    const Tensor<float> y = softmax(x, 1);
    double worst = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      double total = 0;
      for (std::int64_t c = 0; c < columns; ++c) total += std::exp(static_cast<double>(x.data()[r * columns + c]));
      for (std::int64_t c = 0; c < columns; ++c) {
        const double want = std::exp(static_cast<double>(x.data()[r * columns + c])) / total;
        worst = std::max(worst, std::abs(static_cast<double>(y.data()[r * columns + c]) / want - 1));
      }
    }
    CHECK(worst < 2e-6);
  }
}
