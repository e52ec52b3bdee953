// SPDX-License-Identifier: BSL-1.0
// The device EigenCpu beside Cpu, and both beside loops: programs of every kind (broadcasts, views, rows, columns, sums
// of gradients, products, integers, half types). tests/tensor/eigen_cpu_ops.test.cpp goes over all ops.
#include <kiln/eigen.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "support/guarded.hpp"

using namespace kiln;

namespace {

template <class T>
using On = Tensor<T, EigenCpu>;

template <class T = float>
Tensor<T> numbers(const dims& sizes, double from = 0) {
  auto x = empty<T>(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data()[i] = static_cast<T>(2 * std::sin(from + 1.3 * static_cast<double>(i)));
  return x;
}
template <class T, class Device>
bool close(const Tensor<T, Device>& got, const Tensor<T>& want, double tolerance = 2e-6) {
  if (got.sizes() != want.sizes()) return false;
  return allclose(got.template to<Cpu>(), want, tolerance, tolerance);
}

// f(x...) on both devices.
template <class F, class... X>
void check_both(F f, const X&... x) {
  CHECK(close(f(x.template to<EigenCpu>()...).eval(), f(x...).eval(), 1e-5));
}

}  // namespace

TEST_CASE("EigenCpu: tensors of both devices are one") {
  Tensor<float> x = numbers({3, 4});
  x.requires_grad();
  const On<float> there = x.to<EigenCpu>();
  CHECK(there.data() == x.data());
  CHECK(there.to<Cpu>().data() == x.data());
  CHECK(x.t().to<EigenCpu>().data() == x.data());
  sum(there * there).eval().backward();
  REQUIRE(x.has_grad());
  CHECK(close(x.grad(), Tensor<float>(2 * x.detach())));
  const On<float> listed{{1, 2}, {3, 4}};
  CHECK(listed(1, 0) == 3);
  CHECK(sum(listed).item() == 10);
}

TEST_CASE("EigenCpu: maps over broadcasts, views, nothing and much") {
  const auto formula = [](const auto& a, const auto& b) { return relu(a * b + 0.5f) - exp(b) / (1 + abs(a)); };
  const auto a = numbers({4, 7, 33}), b = numbers({7, 1}, 1), large = numbers({301, 1000});
  check_both(formula, a, b);
  check_both(formula, a.transpose(0, 2), numbers({4}, 2));
  check_both(formula, a.slice(2, 1, 33, 2), numbers({16}, 3));
  check_both(formula, numbers({0, 5}), numbers({5}));
  check_both(formula, Tensor<float>(0.25f), Tensor<float>(2.0f));
  check_both(formula, large, numbers({301, 1}));
  check_both(formula, large.t(), numbers({1000, 301}, 1));
  const On<float> y = formula(a.to<EigenCpu>(), b.to<EigenCpu>());
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 7; ++j)
      for (std::int64_t k = 0; k < 33; ++k) {
        const double u = a(i, j, k), v = b(j, 0);
        CHECK(y(i, j, k) ==
              doctest::Approx(std::max(u * v + 0.5, 0.0) - std::exp(v) / (1 + std::abs(u))).epsilon(1e-5));
      }
}

TEST_CASE("EigenCpu: rows and columns") {
  for (const dims& sizes : {dims{5, 9, 67}, dims{2, 3, 5000}, dims{700, 3, 40}, dims{1, 1, 1}}) {
    const auto x = numbers(sizes);
    for (const axes& over : {axes{}, axes{0}, axes{1}, axes{2}, axes{0, 2}}) {
      check_both([&](const auto& a) { return sum(square(a), over); }, x);
      check_both([&](const auto& a) { return max(a, over); }, x);
      check_both([&](const auto& a) { return a - mean(a, over, true); }, x);
    }
    check_both([&](const auto& a) { return softmax(a, 2); }, x);
    check_both([&](const auto& a) { return softmax(a, 0); }, x);
    check_both([&](const auto& a) { return log_softmax(a, 1); }, x.transpose(0, 2));
    check_both([&](const auto& a) { return layer_norm(a, 2); }, x);
  }
  const auto x = numbers<double>({6, 200});
  const On<double> y = softmax(x.to<EigenCpu>(), 1);
  for (std::int64_t i = 0; i < 6; ++i) {
    double all = 0;
    for (std::int64_t j = 0; j < 200; ++j) all += std::exp(x(i, j));
    for (std::int64_t j = 0; j < 200; j += 17)
      CHECK(y(i, j) == doctest::Approx(std::exp(x(i, j)) / all).epsilon(1e-12));
  }
  CHECK_THROWS_AS(max(On<float>(empty<float, EigenCpu>({3, 0})), 1).eval(), value_error);
  CHECK(sum(On<float>(empty<float, EigenCpu>({3, 0})), 1).eval().sizes() == dims{3});
  // A million tenths: sums go on in double after each block, whose own error grows as its vectors get narrower. (In
  // float alone it would be 1e-2.)
  CHECK(sum(full<float, EigenCpu>({1000, 1000}, 0.1f)).item() == doctest::Approx(1e5).epsilon(1e-5));
}

TEST_CASE("EigenCpu: nan goes through maxima and minima") {
  auto x = numbers({3, 40});
  x(1, 7) = std::numeric_limits<float>::quiet_NaN();
  for (const bool largest : {false, true}) {
    const On<float> y = largest ? On<float>(max(x.to<EigenCpu>(), 1)) : On<float>(min(x.to<EigenCpu>(), 1));
    CHECK(std::isnan(y(1)));
    CHECK_FALSE(std::isnan(y(0)));
  }
  // Beside a number, which may be the one that is nan, at every place of a register and of the rest.
  const float nan = x(1, 7);
  const On<float> there = x.to<EigenCpu>(), zero = zeros<float, EigenCpu>({37});
  for (const On<float>& y : {On<float>(maximum(there, 0.0f)), On<float>(minimum(0.0f, there))}) {
    CHECK(std::isnan(y(1, 7)));
    CHECK_FALSE(std::isnan(y(1, 8)));
  }
  for (const On<float>& y : {On<float>(maximum(zero, nan)), On<float>(minimum(nan, zero))})
    CHECK(std::all_of(y.data(), y.data() + 37, [](float v) { return std::isnan(v); }));
}

TEST_CASE("EigenCpu: extremes of rows of every length, and nan wherever it stands in them") {
  for (const std::int64_t n : {1, 2, 15, 16, 31, 32, 33, 47, 65, 600}) {
    Tensor<float> x = zeros<float>({n});
    for (std::int64_t i = 0; i < n; ++i) x.data()[i] = static_cast<float>((i * 37 + 11) % 101) - 50;
    const auto on_eigen = x.to<EigenCpu>();
    const auto [low, high] = std::minmax_element(x.data(), x.data() + n);
    CHECK(max(on_eigen).item() == *high);
    CHECK(min(on_eigen).item() == *low);
    int lost = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const float was = std::exchange(x.data()[i], std::numeric_limits<float>::quiet_NaN());
      lost += !std::isnan(max(on_eigen).item()) + !std::isnan(min(on_eigen).item());
      x.data()[i] = was;
    }
    CHECK(lost == 0);
    x.data()[n / 2] = std::numeric_limits<float>::infinity();
    x.data()[n - 1] = -std::numeric_limits<float>::infinity();
    CHECK(max(on_eigen).item() == *std::max_element(x.data(), x.data() + n));
    CHECK(min(on_eigen).item() == -std::numeric_limits<float>::infinity());
  }
}

TEST_CASE("EigenCpu: gradients of a small network are those of Cpu") {
  const auto loss = [](const auto& x, const auto& w, const auto& b, const auto& v) {
    const auto h = tanh(matmul(x, w) + b);
    return mean(square(log_softmax(matmul(h, v), 1))) + 0.1f * mean(abs(w));
  };
  const auto x = numbers({19, 8});
  Tensor<float> w = numbers({8, 33}, 1), b = numbers({33}, 2), v = numbers({33, 10}, 3);
  for (auto* each : {&w, &b, &v}) each->requires_grad();
  loss(x, w, b, v).eval().backward();
  std::vector<Tensor<float>> want{w.grad().clone(), b.grad().clone(), v.grad().clone()};
  for (auto* each : {&w, &b, &v}) each->zero_grad();
  loss(x.to<EigenCpu>(), w.to<EigenCpu>(), b.to<EigenCpu>(), v.to<EigenCpu>()).eval().backward();
  CHECK(close(w.grad(), want[0], 1e-5));
  CHECK(close(b.grad(), want[1], 1e-5));
  CHECK(close(v.grad(), want[2], 1e-5));
}

TEST_CASE("EigenCpu: integers wrap around and are divided as on Cpu") {
  const Tensor<std::int32_t> a{std::numeric_limits<std::int32_t>::max(), -7, 12, 5}, b{2, 3, -5, -1};
  check_both([](const auto& x, const auto& y) { return x * y + x; }, a, b);
  check_both([](const auto& x, const auto& y) { return remainder(x, y); }, a, b);
  check_both([](const auto& x, const auto& y) { return (x << 2) | (y & 6); }, a, b);
  check_both([](const auto& x, const auto& y) { return where(x > y, x, -y); }, a, b);
  CHECK((a.to<EigenCpu>() + a.to<EigenCpu>()).eval()(0) == -2);
  CHECK_THROWS_AS(remainder(a.to<EigenCpu>(), (b - b).eval().to<EigenCpu>()).eval(), value_error);
  const Tensor<float> f{1e30f, -2.5f, std::numeric_limits<float>::quiet_NaN(), 3.9f};
  check_both([](const auto& x) { return cast<std::int32_t>(x); }, f);
  check_both([](const auto& x) { return cast<float>(x > 0) + cast<float>(logical_not(x < 1)); }, f);
  CHECK(sum(a.to<EigenCpu>()).item() == std::int64_t{std::numeric_limits<std::int32_t>::max()} + 10);
  CHECK(any(a.to<EigenCpu>() == 12).item());
  CHECK_FALSE(all(a.to<EigenCpu>() == 12).item());
}

TEST_CASE("EigenCpu: half types are computed in float") {
  const auto x = cast<half>(numbers({5, 70})).eval();
  const auto y = cast<bfloat16>(numbers({70}, 1)).eval();
  CHECK(allclose(cast<float>(x.to<EigenCpu>() * exp(x.to<EigenCpu>())).eval().to<Cpu>(), cast<float>(x * exp(x)).eval(),
                 2e-3, 1e-3));
  CHECK(allclose(cast<float>(sum(y.to<EigenCpu>() * 2)).eval().to<Cpu>(), cast<float>(sum(y * 2)).eval(), 1e-2, 1e-2));
}

TEST_CASE("EigenCpu: products") {
  for (const auto& [a, b] : {std::pair{dims{3, 4}, dims{4, 5}},
                             {dims{200, 70}, dims{70, 150}},
                             {dims{4}, dims{4, 2}},
                             {dims{6, 4}, dims{4}},
                             {dims{5, 1, 30, 20}, dims{3, 20, 7}},
                             {dims{3, 0}, dims{0, 2}},
                             {dims{0, 3}, dims{3, 2}}})
    check_both([](const auto& x, const auto& y) { return matmul(x, y); }, numbers(a), numbers(b, 1));
  check_both([](const auto& x, const auto& y) { return relu(matmul(x.t(), y.t()) + 1); }, numbers({64, 300}),
             numbers({200, 64}, 1));
  check_both([](const auto& x, const auto& y) { return matmul(x.slice(1, 0, 40, 2), y); }, numbers({30, 40}),
             numbers({20, 9}, 1));
  Tensor<float> w = numbers({4, 6}, 1);
  w.requires_grad();
  sum(matmul(numbers({3, 5, 4}).to<EigenCpu>(), w.to<EigenCpu>())).eval().backward();
  const auto of_eigen = w.grad().clone();
  w.zero_grad();
  sum(matmul(numbers({3, 5, 4}), w)).eval().backward();
  CHECK(close(of_eigen, w.grad(), 1e-5));
}

TEST_CASE("EigenCpu: what writes in place, and several results of one kernel") {
  Tensor<float> x = numbers({50}), m = numbers({50}, 1);
  On<float> ex = x.clone().to<EigenCpu>(), em = m.clone().to<EigenCpu>();
  assign(std::tie(m, x), 0.9f * m + 0.1f * x, x - m * 0.5f);
  assign(std::tie(em, ex), 0.9f * em + 0.1f * ex, ex - em * 0.5f);
  CHECK(close(em, m));
  CHECK(close(ex, x));
  ex += 2 * ex;
  CHECK(close(ex, (3 * x).eval()));
}

TEST_CASE("EigenCpu: what is not an expression is Cpu's") {
  manual_seed(5);
  const auto there = rand<float, EigenCpu>({3, 5});
  manual_seed(5);
  CHECK(close(there, rand<float>({3, 5}), 0));
  const Tensor<std::int64_t> at{2, 0};
  CHECK(close(index_select(there, 1, at.to<EigenCpu>()), index_select(there.to<Cpu>(), 1, at)));
  CHECK(equal(argmax(there, 1).to<Cpu>(), argmax(there.to<Cpu>(), 1)));
  CHECK(equal(one_hot(at.to<EigenCpu>(), 3).to<Cpu>(), one_hot(at, 3)));
  const auto image = numbers({1, 2, 6, 6}), kernels = numbers({3, 2, 3, 3}, 1);
  CHECK(close(conv2d(image.to<EigenCpu>(), kernels.to<EigenCpu>()), conv2d(image, kernels)));
  CHECK(close(max_pool2d(image.to<EigenCpu>(), 2), max_pool2d(image, 2)));
}

TEST_CASE("EigenCpu: kernels read and write what they were given and no byte more") {
  support::walk("maps", [](std::int64_t n, support::edge e) {
    On<float> out = support::guarded<float>({n}, e).to<EigenCpu>();
    const On<float> x = support::guarded<float>({n}, e).to<EigenCpu>();
    out.copy_(exp(x) * x + support::guarded<float>({1}, e).to<EigenCpu>());
    out += x;
  });
  support::walk("rows and columns", [](std::int64_t n, support::edge e) {
    const On<float> x = support::guarded<float>({3, n}, e).to<EigenCpu>();
    On<float> out = support::guarded<float>({3, n}, e).to<EigenCpu>();
    out.copy_(softmax(x, 1));
    On<float> rows = sum(x, 1), columns = sum(x, 0);
  });
  support::walk("products", [](std::int64_t n, support::edge e) {
    const std::int64_t k = n > 200 ? 9 : n;
    const On<double> a = support::guarded<double>({n, k}, e).to<EigenCpu>(),
                     b = support::guarded<double>({5, k}, e).to<EigenCpu>();
    On<double> product = matmul(a, b.t()), turned = matmul(b, a.t());
  });
}
