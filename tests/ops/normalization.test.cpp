// SPDX-License-Identifier: BSL-1.0
// Row functions against plain loops in long double, at inputs that overflow a careless formula; gradients by finite
// differences.
#include <kiln/ops/normalization.hpp>

#include "battery.hpp"

#include <kiln/expr/reductions.hpp>

using namespace battery;

namespace {

using row = std::vector<long double>;

// Runs `oracle` on each row of x and compares, relative to the largest value of the row.
template <class T, class Call, class Oracle>
void check_rows(std::string_view name, const Tensor<T>& x, Call call, Oracle oracle, double tolerance) {
  const auto y = evaluated(call(x));
  const std::int64_t rows = x.size(0), columns = x.size(1), each = y.numel() / rows;
  for (std::int64_t r = 0; r < rows; ++r) {
    row in;
    for (std::int64_t c = 0; c < columns; ++c) in.push_back(x(r, c));
    const row want = oracle(in);
    REQUIRE(static_cast<std::int64_t>(want.size()) == each);
    long double size = 0, worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      size = std::max(size, std::abs(want[i]));
      worst = std::max(worst,
                       std::abs(want[i] - static_cast<long double>(y.data()[r * each + static_cast<std::int64_t>(i)])));
    }
    CHECK_MESSAGE(static_cast<double>(worst) <= tolerance * static_cast<double>(size),
                  message(name, " of ", columns, " elements"));
  }
}

long double largest(const row& x) {
  return *std::max_element(x.begin(), x.end());
}
long double log_sum_exp(const row& x) {
  const long double top = largest(x);
  long double total = 0;
  for (long double v : x) total += std::exp(v - top);
  return top + std::log(total);
}
long double mean_of(const row& x) {
  long double total = 0;
  for (long double v : x) total += v;
  return total / static_cast<long double>(x.size());
}
long double deviation(const row& x) {
  const long double mean = mean_of(x);
  long double total = 0;
  for (long double v : x) total += (v - mean) * (v - mean);
  return total;
}
template <class F>
row each(const row& x, F f) {
  row out;
  for (long double v : x) out.push_back(f(v));
  return out;
}

template <class T>
void check_all_rows(double tolerance) {
  for (std::int64_t columns : {1, 2, 15, 16, 17, 1000, 5000})
    for (double scale : {1.0, 1000.0}) {  // e^1000 overflows
      Tensor<T> x(new_tensor(dtype_of<T>, {3, columns}));
      for (std::int64_t i = 0; i < x.numel(); ++i)
        x.data()[i] = static_cast<T>(scale * (std::sin(static_cast<double>(i) * 12.9898) + 0.25));
      check_rows(
          "softmax", x, [](auto v) { return softmax(v); },
          [](const row& v) { return each(v, [total = log_sum_exp(v)](long double e) { return std::exp(e - total); }); },
          tolerance * scale);
      check_rows(
          "log_softmax", x, [](auto v) { return log_softmax(v); },
          [](const row& v) { return each(v, [total = log_sum_exp(v)](long double e) { return e - total; }); },
          tolerance);
      check_rows(
          "logsumexp", x, [](auto v) { return logsumexp(v, 1); }, [](const row& v) { return row{log_sum_exp(v)}; },
          tolerance);
      check_rows(
          "layer_norm", x, [](auto v) { return layer_norm(v); },
          [](const row& v) {
            const long double mean = mean_of(v), variance = deviation(v) / static_cast<long double>(v.size());
            return each(v, [&](long double e) { return (e - mean) / std::sqrt(variance + 1e-5L); });
          },
          tolerance * 4);
      check_rows(
          "rms_norm", x, [](auto v) { return rms_norm(v); },
          [](const row& v) {
            long double squares = 0;
            for (long double e : v) squares += e * e;
            return each(
                v, [&](long double e) { return e / std::sqrt(squares / static_cast<long double>(v.size()) + 1e-6L); });
          },
          tolerance);
      if (columns > 1)
        check_rows(
            "var", x, [](auto v) { return var(v, 1); },
            [](const row& v) { return row{deviation(v) / static_cast<long double>(v.size() - 1)}; }, tolerance);
    }
}

}  // namespace

TEST_CASE("softmax, log_softmax, logsumexp, layer_norm, rms_norm, var: values") {
  REQUIRE(is_tested<softmax_op>);
  REQUIRE(is_tested<log_softmax_op>);
  REQUIRE(is_tested<logsumexp_op>);
  REQUIRE(is_tested<layer_norm_op>);
  REQUIRE(is_tested<rms_norm_op>);
  REQUIRE(is_tested<squared_deviation_op>);
  REQUIRE(is_tested<standard_deviation_op>);
  check_all_rows<float>(2e-6);
  check_all_rows<double>(4e-15);
}

TEST_CASE("var: the mean is taken off first, so a large offset costs nothing") {
  Tensor<float> x(new_tensor(dtype::float32, {1000}));
  for (std::int64_t i = 0; i < 1000; ++i) x.data()[i] = 10000.0f + static_cast<float>(i % 2);
  CHECK(evaluated(var(x, 0, false, 0)).item() == doctest::Approx(0.25).epsilon(1e-4));
}

TEST_CASE("row functions: special values") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(evaluated(logsumexp(Tensor<double>{-inf, -inf}, 0)).item() == -inf);
  CHECK(evaluated(logsumexp(Tensor<double>{inf, 1.0}, 0)).item() == inf);
  CHECK(evaluated(logsumexp(Tensor<double>{-inf, 1.0}, 0)).item() == 1);
  const Tensor<double> masked = softmax(Tensor<double>{0.0, -inf, 0.0});
  CHECK(masked(0) == 0.5);
  CHECK(masked(1) == 0);
  CHECK(std::isnan(evaluated(softmax(Tensor<double>{-inf, -inf}))(0)));  // as in PyTorch
  CHECK(evaluated(var(Tensor<double>{3.0}, 0, false, 0)).item() == 0);
  CHECK(std::isnan(evaluated(var(Tensor<double>{3.0})).item()));
}

TEST_CASE("norm and std: where they are zero, the gradient is zero, not nan") {
  CHECK(gradients_of<double>([](auto x) { return norm(x); }, Tensor<double>{0.0, 0.0}) == std::vector<double>{0, 0});
  CHECK(gradients_of<double>([](auto x) { return kiln::std(x); }, Tensor<double>{3.0, 3.0}) ==
        std::vector<double>{0, 0});
  CHECK(gradients_of<double>([](auto x) { return norm(x); }, Tensor<double>{3.0, 4.0})[0] == doctest::Approx(0.6));
}

TEST_CASE("row functions: gradients along rows and columns") {
  Tensor<double> x(new_tensor(dtype::float64, {3, 5}));
  for (std::int64_t i = 0; i < 15; ++i) x.data()[i] = 2 * std::sin(static_cast<double>(i * i));
  auto agrees = [&](auto f) {
    const auto check = check_gradient(f, x);
    CHECK_MESSAGE(check.agrees, check.text);
  };
  agrees([](auto v) { return softmax(v); });
  agrees([](auto v) { return softmax(v, 0); });
  agrees([](auto v) { return log_softmax(v); });
  agrees([](auto v) { return logsumexp(v, 1); });
  agrees([](auto v) { return logsumexp(v * v, 0, true); });
  agrees([](auto v) { return layer_norm(v); });
  agrees([](auto v) { return rms_norm(v) * v; });
  agrees([](auto v) { return var(v, 1); });
  agrees([](auto v) { return kiln::std(v, 0, true); });
  agrees([](auto v) { return norm(v); });
  agrees([](auto v) { return (v - mean(v, -1, true)) * rsqrt(mean(square(v - mean(v, -1, true)), -1, true) + 1e-5); });
}

TEST_CASE("log_softmax: keeps its digits far away from zero") {
  for (double offset : {1e3, 1e6, 1e8, -1e8}) {
    const Tensor<float> y = log_softmax(Tensor<float>{static_cast<float>(offset), static_cast<float>(offset)});
    CHECK(y(0) == doctest::Approx(std::log(0.5)).epsilon(1e-6));
    CHECK(y(1) == y(0));
  }
  const Tensor<float> y = log_softmax(Tensor<float>{5000.0f, 5001.0f, 4999.5f});
  const double total = std::log(std::exp(-1.0) + 1 + std::exp(-1.5));
  CHECK(y(0) == doctest::Approx(-1 - total).epsilon(1e-6));
  CHECK(y(1) == doctest::Approx(-total).epsilon(1e-6));
}

TEST_CASE("std, var: of huge, tiny and equal numbers") {
  auto check = [](auto one, double scale) {
    using T = decltype(one);
    const Tensor<T> x{T(scale), T(3 * scale), T(4 * scale)};
    CHECK(evaluated(kiln::std(x)).item() / scale == doctest::Approx(std::sqrt(7.0 / 3)).epsilon(1e-6));
    const std::vector<T> g = gradients_of<T>([](auto v) { return kiln::std(v); }, x.clone());
    CHECK(g[0] == doctest::Approx(-5.0 / 3 / (2 * std::sqrt(7.0 / 3))).epsilon(1e-6));
    CHECK(g[2] == doctest::Approx(4.0 / 3 / (2 * std::sqrt(7.0 / 3))).epsilon(1e-6));
  };
  for (double scale : {1.0, 1e20, 3e37, 1e-10, 1e-25, 1e-36}) check(1.0f, scale);
  for (double scale : {1e200, 1e-200}) check(1.0, scale);
  for (float value : {12345.678f, 0.1f, 1e20f, 1e-25f})
    for (std::int64_t n : {2, 7, 41, 1000}) {
      const Tensor<float> x = tensor_of(std::vector<float>(static_cast<std::size_t>(n), value));
      CHECK(evaluated(kiln::std(x)).item() <= 1e-10f * value);
      if (value < 1e10f) CHECK(evaluated(var(x)).item() <= 1e-13f * value);
    }
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(std::isnan(evaluated(kiln::std(Tensor<float>{1.0f, inf})).item()));
  CHECK(std::isnan(evaluated(kiln::std(Tensor<float>{1.0f})).item()));
  CHECK(evaluated(var(Tensor<float>{1e20f, 2e20f})).item() == inf);
}

TEST_CASE("layer_norm: nothing is left of a row of equal elements, and little of an offset") {
  for (float value : {12345.678f, 0.1f, -3e6f})
    for (std::int64_t n : {7, 41, 1000}) {
      const Tensor<float> y = layer_norm(tensor_of(std::vector<float>(static_cast<std::size_t>(n), value)));
      for (std::int64_t i = 0; i < n; ++i) CHECK(std::abs(y(i)) < 1e-3f);
    }
  const Tensor<float> far = layer_norm(Tensor<float>{1e6f + 1, 1e6f + 2, 1e6f + 3, 1e6f + 7});
  const Tensor<float> near = layer_norm(Tensor<float>{1, 2, 3, 7});
  for (int i = 0; i < 4; ++i) CHECK(far(i) == doctest::Approx(near(i)).epsilon(1e-6));
}

TEST_CASE("row functions of nothing") {
  const Tensor<float> nothing(new_tensor(dtype::float32, {0})), rows(new_tensor(dtype::float32, {3, 0}));
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(evaluated(logsumexp(nothing)).item() == -inf);
  const Tensor<float> three = logsumexp(rows, 1);
  CHECK(three.sizes() == dims{3});
  CHECK(three(2) == -inf);
  CHECK(evaluated(softmax(nothing, 0)).numel() == 0);
  CHECK(evaluated(sum(softmax(nothing, -1))).item() == 0);
  CHECK(evaluated(sum(log_softmax(rows, -1))).item() == 0);
  CHECK(evaluated(sum(layer_norm(nothing))).item() == 0);
  CHECK(std::isnan(evaluated(kiln::std(nothing)).item()));
  CHECK(std::isnan(evaluated(mean(nothing)).item()));
  CHECK_THROWS_AS(evaluated(max(nothing)), value_error);
}
