// SPDX-License-Identifier: BSL-1.0
// Tensors of random numbers: their distributions, ranges and independence, and that they can be drawn again.
#include <kiln/tensor/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>

using namespace kiln;

namespace {

// The largest distance between the distribution of the draws and the true one (Kolmogorov, Smirnov), times sqrt(n).
template <class Cdf>
double distance(std::vector<double> draws, Cdf cdf) {
  std::sort(draws.begin(), draws.end());
  const double n = static_cast<double>(draws.size());
  double worst = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double p = cdf(draws[i]), k = static_cast<double>(i);
    worst = std::max({worst, std::abs(p - k / n), std::abs(p - (k + 1) / n)});
  }
  return worst * std::sqrt(n);
}
constexpr double surely_less = 2.2;  // exceeded with probability 2 exp(-2 2.2^2) = 1e-4; the seeds are fixed

template <class T>
std::vector<double> doubles(const Tensor<T>& x) {
  std::vector<double> out;
  for (auto v : x.span()) out.push_back(static_cast<double>(v));
  return out;
}
template <class T>
bool equal(const Tensor<T>& a, const Tensor<T>& b) {
  return a.sizes() == b.sizes() && std::equal(a.span().begin(), a.span().end(), b.span().begin());
}

}  // namespace

TEST_CASE("rand is uniform on [0, 1)") {
  manual_seed(1);
  CHECK(distance(doubles(rand<float>({100000})), [](double x) { return x; }) < surely_less);
  CHECK(distance(doubles(rand<double>({100000})), [](double x) { return x; }) < surely_less);
  for (double v : doubles(rand({1000000}))) REQUIRE((v >= 0 && v < 1));
  // Half types have few values in [0, 1); the largest lies a unit below 1.
  double most = 0, mean = 0;
  const auto halves = doubles(rand<half>({200000}));
  for (double v : halves) most = std::max(most, v), mean += v / 200000;
  CHECK(most == 1 - 0x1p-11);
  CHECK(mean == doctest::Approx(0.5 - 0x1p-12).epsilon(0.005));
  most = 0;
  for (double v : doubles(rand<bfloat16>({20000}))) most = std::max(most, v);
  CHECK(most == 1 - 0x1p-8);
}

TEST_CASE("randn is standard normal") {
  manual_seed(2);
  const auto cdf = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  CHECK(distance(doubles(randn<float>({100000})), cdf) < surely_less);
  CHECK(distance(doubles(randn<double>({100000})), cdf) < surely_less);
  constexpr int n = 1000000;
  std::array<double, 5> moment{};
  for (double v : doubles(randn({n})))
    for (std::size_t k = 1; k < 5; ++k) moment[k] += std::pow(v, static_cast<double>(k)) / n;
  // Five standard deviations of each: 1, sqrt 2, sqrt 15, sqrt 96, over sqrt n.
  CHECK(std::abs(moment[1]) < 0.005);
  CHECK(std::abs(moment[2] - 1) < 0.0071);
  CHECK(std::abs(moment[3]) < 0.0194);
  CHECK(std::abs(moment[4] - 3) < 0.049);
}

TEST_CASE("neighbours in a tensor are independent") {
  manual_seed(3);
  const auto draws = doubles(randn<float>({400000}));
  for (const std::size_t lag : {1u, 2u, 4u, 8u, 16u, 1024u}) {
    double product = 0;
    for (std::size_t i = 0; i + lag < draws.size(); ++i) product += draws[i] * draws[i + lag];
    CHECK_MESSAGE(std::abs(product) / std::sqrt(400000.0) < 5, lag);
  }
}

TEST_CASE("randint gives every number of the range and no other") {
  manual_seed(4);
  std::array<double, 7> seen{};
  const auto few = randint(-3, 4, {70000});
  for (std::int64_t v : few.span()) {
    REQUIRE((v >= -3 && v < 4));
    ++seen[static_cast<std::size_t>(v + 3)];
  }
  double chi_square = 0;
  for (double s : seen) chi_square += (s - 10000) * (s - 10000) / 10000;
  CHECK(chi_square < 30);  // 6 degrees of freedom: exceeded with probability 4e-5
  const auto bytes = randint<std::uint8_t>(256, {20000});
  CHECK(*std::max_element(bytes.span().begin(), bytes.span().end()) == 255);
  const auto coins = randint<bool>(2, {1000});
  CHECK(std::abs(static_cast<int>(std::count(coins.span().begin(), coins.span().end(), true)) - 500) < 80);
  const auto whole = randint<float>(0, 3, {100});
  for (float v : whole.span()) REQUIRE((v == 0 || v == 1 || v == 2));
  constexpr auto low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  const auto wide = randint(low, high, {1000});
  CHECK(std::count_if(wide.span().begin(), wide.span().end(), [](std::int64_t v) { return v < 0; }) > 400);
  CHECK(randint(7, 8, {}).item() == 7);
}

TEST_CASE("randint names a range that is empty or does not fit") {
  CHECK_THROWS_WITH_AS(randint(3, 3, {2}), "randint: there is no number from 3 to below 3: make high larger than low",
                       value_error);
  CHECK_THROWS_AS(randint<std::uint8_t>(-1, 3, {2}), value_error);
  CHECK_THROWS_AS(randint<std::int8_t>(0, 129, {2}), value_error);
  CHECK_NOTHROW(randint<std::int8_t>(0, 128, {2}));
  CHECK_THROWS_AS(randint<bool>(0, 3, {2}), value_error);
}

TEST_CASE("the same seed draws the same, the next tensor something else") {
  manual_seed(5);
  const auto a = rand({1000}), b = rand({1000});
  const auto n = randn({1000});
  manual_seed(5);
  CHECK(equal(rand({1000}), a));
  CHECK(equal(rand({1000}), b));
  CHECK(equal(randn({1000}), n));
  CHECK_FALSE(equal(a, b));
  manual_seed(6);
  CHECK_FALSE(equal(rand({1000}), a));
  generator own(5);
  CHECK(equal(rand({1000}, own), a));
}

TEST_CASE("draws do not overlap from one tensor to the next") {
  manual_seed(7);
  const auto all = rand<double>({64});
  manual_seed(7);
  (void)rand<double>({3});  // takes two blocks: words for four
  const auto next = rand<double>({60});
  for (int i = 0; i < 60; ++i) REQUIRE(next(i) == all(i + 4));
}

TEST_CASE("every number of threads draws the same") {
  const int before = cpu::num_threads();
  cpu::set_num_threads(1);
  manual_seed(8);
  const auto r = rand({300001}), n = randn({300001});
  const auto k = randint(100, {300001});
  cpu::set_num_threads(2);
  manual_seed(8);
  CHECK(equal(rand({300001}), r));
  CHECK(equal(randn({300001}), n));
  CHECK(equal(randint(100, {300001}), k));
  cpu::set_num_threads(before);
}

TEST_CASE("randperm is a permutation, every place equally likely") {
  manual_seed(9);
  const auto p = randperm(1000);
  std::vector<std::int64_t> sorted(p.span().begin(), p.span().end());
  CHECK_FALSE(std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t i = 0; i < 1000; ++i) REQUIRE(sorted[static_cast<std::size_t>(i)] == i);
  std::array<std::array<double, 4>, 4> seen{};
  for (int i = 0; i < 24000; ++i) {
    const auto q = randperm(4);
    for (int j = 0; j < 4; ++j) ++seen[static_cast<std::size_t>(j)][static_cast<std::size_t>(q(j))];
  }
  for (const auto& row : seen)
    for (double s : row) CHECK(std::abs(s - 6000) < 5 * std::sqrt(24000 * 0.25 * 0.75));
  CHECK(randperm(0).numel() == 0);
  CHECK_THROWS_AS(randperm(-1), value_error);
}

TEST_CASE("random tensors take any shape, and that and the type of another") {
  CHECK(rand({}).dim() == 0);
  CHECK(rand({0, 3}).sizes() == dims{0, 3});
  CHECK_THROWS_AS(rand({-1}), shape_error);
  const Tensor<double> x{{1, 2, 3}, {4, 5, 6}};
  static_assert(std::is_same_v<decltype(rand_like(x)), Tensor<double>>);
  CHECK(rand_like(x).sizes() == dims{2, 3});
  CHECK(randn_like(x + 1).sizes() == dims{2, 3});
  CHECK(randint_like(x, 0, 5).sizes() == dims{2, 3});
  auto w = randn({3});
  w.requires_grad();
  backward(sum(w * 2));
  CHECK(w.grad()(0) == 2);
}
