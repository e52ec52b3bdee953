// SPDX-License-Identifier: BSL-1.0
// Random numbers within expressions: in every way the executor walks over a domain each position gets the number of its
// place in the stream, and a backward pass meets the same numbers.
#include <kiln/tensor/draw.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/products.hpp>

#include "support/draws.hpp"

using namespace kiln;

namespace {

// Checks float values, given their number and that of their draw in a fresh stream of seed 7.
template <class F>
void check_values(const Tensor<float>& y, F wanted) {
  const Tensor<float> flat = y.clone();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const double want = wanted(static_cast<std::uint64_t>(i));
    INFO("element ", i);
    // A float of an angle near a right one leaves that much to its cosine.
    REQUIRE(static_cast<double>(flat.data()[i]) == doctest::Approx(want).epsilon(5e-6).scale(1));
  }
}
double uniform(std::uint64_t i) {
  return test::uniform(7, 0, i);
}
double normal_number(std::uint64_t i) {
  return test::normal(7, 0, i);
}

}  // namespace

TEST_CASE("draw: flat pieces, rows and transposes give each position the number of its place") {
  for (const dims& sizes :
       {dims{}, dims{1}, dims{3}, dims{1027}, dims{100000}, dims{7, 5}, dims{33, 257}, dims{4, 3, 50}}) {
    manual_seed(7);
    check_values(normal(zeros<float>(sizes), 1.0), normal_number);
    manual_seed(7);
    check_values(normal(1.0, full<float>(sizes, 2.0f)), [](std::uint64_t i) { return 1 + 2 * normal_number(i); });
    manual_seed(7);
    const Tensor<float> coin = bernoulli(full<float>(sizes, 0.25f));
    check_values(coin, [](std::uint64_t i) { return uniform(i) < 0.25 ? 1.0 : 0.0; });
  }
  // The result lies across the places: strided draws, and an operand that is turned in tiles.
  Tensor<float> across = zeros<float>({70, 130});
  const Tensor<float> beside = ones<float>({70, 130});
  manual_seed(7);
  auto turned = across.transpose(0, 1);
  turned += normal(beside.transpose(0, 1), 0.5);
  check_values(turned, [](std::uint64_t i) { return 1 + 0.5 * normal_number(i); });
  manual_seed(7);
  check_values(normal(beside.transpose(0, 1), 0.5), [](std::uint64_t i) { return 1 + 0.5 * normal_number(i); });
}

TEST_CASE("draw: one number per row or column is the same wherever it is broadcast") {
  const Tensor<float> zero = zeros<float>({6, 40});
  manual_seed(7);
  check_values(zero + normal(zeros<float>({6, 1}), 1.0), [](std::uint64_t i) { return normal_number(i / 40); });
  manual_seed(7);
  check_values(zero + normal(zeros<float>({40}), 1.0), [](std::uint64_t i) { return normal_number(i % 40); });
}

TEST_CASE("draw: reductions along every axis, of one long row too, see the numbers") {
  constexpr std::int64_t rows = 21, columns = 300;
  std::vector<double> by_row(rows), by_column(columns);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const double z = normal_number(static_cast<std::uint64_t>(i));
    by_row[static_cast<std::size_t>(i / columns)] += z * z;
    by_column[static_cast<std::size_t>(i % columns)] += z * z;
  }
  const Tensor<float> zero = zeros<float>({rows, columns});
  manual_seed(7);
  check_values(sum(square(normal(zero, 1.0)), 1), [&](std::uint64_t i) { return by_row[i]; });
  manual_seed(7);
  check_values(sum(square(normal(zero, 1.0)), 0), [&](std::uint64_t i) { return by_column[i]; });
  constexpr std::int64_t n = 150001;
  double all = 0;
  for (std::uint64_t i = 0; i < n; ++i) all += std::abs(normal_number(i));
  manual_seed(7);
  const Tensor<float> total = sum(abs(normal(zeros<float>({n}), 1.0)));
  CHECK(static_cast<double>(total.item()) == doctest::Approx(all).epsilon(1e-5));
  // A row program that draws before its reductions and uses the numbers again after them.
  manual_seed(7);
  const Tensor<float> p = softmax(normal(zero, 1.0), 1);
  std::vector<double> sums(rows);
  for (std::int64_t i = 0; i < rows * columns; ++i)
    sums[static_cast<std::size_t>(i / columns)] += std::exp(normal_number(static_cast<std::uint64_t>(i)));
  check_values(p * 300, [&](std::uint64_t i) { return 300 * std::exp(normal_number(i)) / sums[i / columns]; });
}

TEST_CASE("draw: beside a matrix product") {
  const Tensor<float> a = full<float>({80, 16}, 0.5f), b = full<float>({16, 120}, 0.25f);
  manual_seed(7);
  check_values(normal(matmul(a, b), 1.0), [](std::uint64_t i) { return 2 + normal_number(i); });
}

TEST_CASE("draw: types") {
  manual_seed(7);
  const Tensor<double> d = normal(zeros<double>({1001}), 1.0);
  for (std::uint64_t i = 0; i < 1001; ++i)
    REQUIRE(d.data()[i] == doctest::Approx(test::normal_of_double(7, 0, i)).epsilon(1e-14).scale(1));
  manual_seed(7);
  const Tensor<bfloat16> h = normal(zeros<bfloat16>({50}), ones<bfloat16>({50}));
  for (std::uint64_t i = 0; i < 50; ++i)
    REQUIRE(static_cast<float>(h.data()[i]) == static_cast<float>(bfloat16(static_cast<float>(normal_number(i)))));
  static_assert(std::is_same_v<decltype(bernoulli(Tensor<double>{}))::value_type, double>);
  CHECK(Tensor<float>(bernoulli(Tensor<float>{0.0f, 1.0f, -1.0f, 2.0f}))(3) == 1);
  CHECK(Tensor<float>(normal(zeros<float>({0, 3}), 1.0)).numel() == 0);
}

TEST_CASE("draw: a deviation below 0 is refused, as PyTorch's is") {
  const Tensor<float> mean = zeros({3});
  CHECK_THROWS_AS(normal(mean, -1.0f), value_error);
  CHECK_THROWS_AS(normal(mean, std::nanf("")), value_error);
  CHECK_THROWS_WITH_AS(normal(mean, ones({2})), doctest::Contains("normal: shapes [3] and [2] do not broadcast"),
                       shape_error);
  CHECK(sum(normal(mean + 2.0f, 0.0f)).item() == 6.0f);
}

TEST_CASE("draw: an expression gives the same numbers whenever it is evaluated, two expressions give others") {
  const auto twice = normal(zeros<float>({100}), 1.0);
  const Tensor<float> first = twice, second = twice + 0, other = normal(zeros<float>({100}), 1.0);
  CHECK(std::equal(first.span().begin(), first.span().end(), second.span().begin()));
  CHECK(!std::equal(first.span().begin(), first.span().end(), other.span().begin()));
}

TEST_CASE("draw: a backward pass draws the numbers again") {
  const Tensor<float> mean = zeros<float>({40, 30}).requires_grad(), deviation = ones<float>({30}).requires_grad();
  manual_seed(7);
  const Tensor<float> y = square(normal(mean, deviation));
  backward(sum(y));
  check_values(mean.grad(), [](std::uint64_t i) { return 2 * normal_number(i); });
  std::vector<double> slope(30);
  for (std::uint64_t i = 0; i < 1200; ++i) slope[i % 30] += 2 * normal_number(i) * normal_number(i);
  check_values(deviation.grad(), [&](std::uint64_t i) { return slope[i]; });
}
