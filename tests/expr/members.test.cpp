// SPDX-License-Identifier: BSL-1.0
// Functions as members, of tensors and of expressions.
#include <doctest/doctest.h>

#include <cmath>

#include <kiln/kiln.hpp>

using namespace kiln;

TEST_CASE("members: reductions") {
  const Tensor<float> x{{1, 2, 3}, {4, 5, 9}};
  CHECK(x.sum().item() == 24);
  CHECK(x.mean().item() == 4);
  CHECK(x.prod(0)(2) == 27);
  CHECK((x * 2).max(1)(1) == 18);
  CHECK(x.min({0, 1}).item() == 1);
  CHECK(x.sum(1, true).shape() == dims{2, 1});
  CHECK((x > 8).any().item());
  CHECK_FALSE((x > 8).all().item());
  CHECK((x > 3).all(1)(1));
  CHECK(x.argmax().item() == 5);
  CHECK((x * 0 + 2).norm().item() == doctest::Approx(std::sqrt(24.0)));
  CHECK((-x).argmax(1)(0) == 0);
  CHECK(x.argmin(0).shape() == dims{3});
}

TEST_CASE("members: functions of elements, chained") {
  const Tensor<double> x{{-1, 2}, {3, -4}};
  CHECK(x.abs().sum().item() == 10);
  CHECK(x.square().sqrt()(1, 1) == 4);
  CHECK(x.exp().log()(0, 1) == doctest::Approx(2));
  CHECK(x.tanh()(0, 0) == doctest::Approx(std::tanh(-1.0)));
  CHECK(x.sigmoid()(0, 0) == doctest::Approx(1 / (1 + std::exp(1.0))));
  CHECK(x.relu().max().item() == 3);
  CHECK(x.pow(2)(1, 1) == 16);
  CHECK(x.clamp(-2, 2).min().item() == -2);
  CHECK(x.softmax(1).sum(1)(0) == doctest::Approx(1));
  CHECK((x + 0).matmul(x)(0, 0) == 7);
  CHECK(x.select(0, 0).dot(x.select(0, 1)).item() == -11);
}

TEST_CASE("members: every function of elements is the function of its name") {
  const Tensor<double> x{-0.75, 0.25, 0.5};
  const auto all = [&](const auto& y, double (*f)(double)) {
    const Tensor<double> got = y;
    for (int i = 0; i < 3; ++i) CHECK(got(i) == doctest::Approx(f(x(i))).epsilon(1e-12));
  };
  all(x.sin(), [](double v) { return std::sin(v); });
  all(x.cos(), [](double v) { return std::cos(v); });
  all(x.tan(), [](double v) { return std::tan(v); });
  all(x.asin(), [](double v) { return std::asin(v); });
  all(x.acos(), [](double v) { return std::acos(v); });
  all(x.atan(), [](double v) { return std::atan(v); });
  all(x.sinh(), [](double v) { return std::sinh(v); });
  all(x.cosh(), [](double v) { return std::cosh(v); });
  all(x.erf(), [](double v) { return std::erf(v); });
  all(x.erfc(), [](double v) { return std::erfc(v); });
  all(x.expm1(), [](double v) { return std::expm1(v); });
  all(x.log1p(), [](double v) { return std::log1p(v); });
  all(x.abs().log2(), [](double v) { return std::log2(std::abs(v)); });
  all(x.abs().log10(), [](double v) { return std::log10(std::abs(v)); });
  all(x.abs().rsqrt(), [](double v) { return 1 / std::sqrt(std::abs(v)); });
  all(x.reciprocal(), [](double v) { return 1 / v; });
  all((x * 2).floor(), [](double v) { return std::floor(2 * v); });
  all((x * 2).ceil(), [](double v) { return std::ceil(2 * v); });
  all((x * 2).round(), [](double v) { return std::nearbyint(2 * v); });
  all((x * 2).trunc(), [](double v) { return std::trunc(2 * v); });
  all(x.sign(), [](double v) { return v < 0 ? -1.0 : 1.0; });
  all(x.maximum(0.3), [](double v) { return v > 0.3 ? v : 0.3; });
  all(x.minimum(x * x), [](double v) { return v < v * v ? v : v * v; });
  const Tensor<double> strange = x.log();  // a nan, and numbers
  CHECK((strange.isnan()(0) && !strange.isnan()(1) && !strange.isfinite()(0) && strange.isfinite()(2)));
  CHECK((x.reciprocal() * 0).isinf().logical_not().eval()(0));
}

TEST_CASE("members: reductions that have an option, or belong to softmax") {
  const Tensor<double> x{{1, 2, 6}, {0, 4, 0}};
  CHECK(x.var().item() == doctest::Approx(5.7666666666666666));  // squares about the mean 13/6: 28.8333 / 5
  CHECK(x.var(1)(0) == doctest::Approx(7));
  CHECK(x.var(1, true, 0).shape() == dims{2, 1});
  CHECK(x.std(1, false, 0)(0) == doctest::Approx(std::sqrt(14.0 / 3)));
  CHECK(x.std().item() == doctest::Approx(std::sqrt(5.7666666666666666)));
  CHECK(x.count_nonzero().item() == 4);
  CHECK((x * 1).count_nonzero(1)(1) == 1);
  CHECK(x.norm(0)(1) == doctest::Approx(std::sqrt(20.0)));
  CHECK(x.logsumexp().item() == doctest::Approx(std::log(std::exp(1) + std::exp(2) + std::exp(6) + std::exp(4) + 2)));
  CHECK(x.logsumexp(1, true)(0, 0) == doctest::Approx(std::log(std::exp(1) + std::exp(2) + std::exp(6))));
  CHECK(x.log_softmax(1)(0, 1) == doctest::Approx(2 - std::log(std::exp(1) + std::exp(2) + std::exp(6))));
}

TEST_CASE("members: elements in other places") {
  const Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  const auto e = x + 0;
  CHECK(x.flip()(0, 0) == 6);
  CHECK(e.flip(1)(0, 0) == 3);
  CHECK(x.flip({0, 1})(0, 0) == 6);
  CHECK(x.roll(1)(0, 0) == 6);
  CHECK(e.roll(1, 0)(0, 0) == 4);
  CHECK(x.roll({1, 1}, {0, 1})(0, 0) == 6);
  CHECK(x.repeat(2, 1).shape() == dims{4, 3});
  CHECK(e.repeat({2, 1, 1}).shape() == dims{2, 2, 3});
  CHECK(x.repeat_interleave(2)(1) == 1);
  CHECK(e.repeat_interleave(2, 0)(1, 2) == 3);
  CHECK(x.repeat_interleave(Tensor<int>{0, 2}, 0)(0, 0) == 4);
  CHECK(x.unbind()[1](2) == 6);
  CHECK(e.split(2, 1)[1](0, 0) == 3);
  CHECK(x.split({1, 2}, 1)[1](0, 0) == 2);
  CHECK(x.chunk(2)[1](0, 0) == 4);
  CHECK(x.swapaxes(0, 1)(2, 1) == 6);
  CHECK(e.movedim(0, 1)(2, 1) == 6);
  CHECK(x.tril()(0, 1) == 0);
  CHECK(e.triu(1)(0, 0) == 0);
  CHECK(x.diagonal(1)(0) == 2);
  CHECK(x.masked_fill(x > 3, 0)(1, 1) == 0);
  const Tensor<std::int64_t> at{{2}, {0}};
  CHECK(e.gather(1, at)(0, 0) == 3);
  CHECK(x.index_select(1, Tensor<std::int64_t>{2})(1, 0) == 6);
  CHECK(x.index_select(0, {1, 0})(0, 0) == 4);
}
