// SPDX-License-Identifier: BSL-1.0
// Reductions over every subset of axes, of any layout, length and type, against naive loops in double.
#include <doctest/doctest.h>

#include <numeric>

#include <kiln/device/cpu/rows/reduce.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/views.hpp>
#include <support/bits.hpp>
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
double sum_of(const row& v) {
  return std::accumulate(v.begin(), v.end(), 0.0);
}
double mean_of(const row& v) {
  return sum_of(v) / static_cast<double>(v.size());
}
double squares_of(const row& v) {
  double s = 0;
  for (double x : v) s += x * x;
  return s;
}
double var_of(const row& v) {
  double s = 0;
  const double mean = mean_of(v);
  for (double x : v) s += (x - mean) * (x - mean);
  return s / static_cast<double>(v.size());
}
double max_of(const row& v) {
  return *std::max_element(v.begin(), v.end());
}
double min_of(const row& v) {
  return *std::min_element(v.begin(), v.end());
}
double log_sum_exp_of(const row& v) {
  double s = 0;
  const double most = max_of(v);
  for (double x : v) s += std::exp(x - most);
  return most + std::log(s);
}

}  // namespace

TEST_CASE("reduce: random axes of random layouts, with expressions below and above") {
  for (std::uint32_t seed = 1; seed <= 250; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const lengths s = d.shape(5, seed % 10 == 0 ? 200000 : 3000, false);
    const auto a = d.tensor<float>(s), b = d.tensor<float>(d.narrower(s));
    const std::uint32_t mask = d.axes(s.size());
    const bool keep = d.chance(2);
    const axes over = test::axes_in(mask, s.size());
    CAPTURE(a.sizes());
    CAPTURE(a.strides());
    CAPTURE(b.strides());
    CAPTURE(mask);
    CAPTURE(keep);
    const naive na = naive::of(a), ab = test::map([](double x, double y) { return x * y; }, na, naive::of(b));
    const double n = static_cast<double>(test::rows_of(na, mask).empty() ? 1 : test::rows_of(na, mask)[0].size());
    CHECK(difference(untracked(sum(a, over, keep)), test::reduce(sum_of, na, mask, keep), 1e-6, 1e-6 * std::sqrt(n)) ==
          "");
    CHECK(difference(untracked(max(a, over, keep)), test::reduce(max_of, na, mask, keep)) == "");
    CHECK(difference(untracked(2.0f * mean(a * b, over, keep) + 1.0f),
                     test::reduce([](const row& v) { return 2 * mean_of(v) + 1; }, ab, mask, keep), 1e-6, 2e-6) == "");
    CHECK(difference(untracked(min(a * b, over, keep)), test::reduce(min_of, ab, mask, keep), 1e-6) == "");
    CHECK(difference(untracked(norm(a * b, over, keep)),
                     test::reduce([](const row& v) { return std::sqrt(squares_of(v)); }, ab, mask, keep), 2e-6) == "");
    CHECK(difference(untracked(var(a, over, keep, 0)), test::reduce(var_of, na, mask, keep), 1e-5, 1e-9) == "");
    CHECK(difference(untracked(logsumexp(a, over, keep)), test::reduce(log_sum_exp_of, na, mask, keep), 2e-6, 1e-6) ==
          "");
    if (n <= 20)
      CHECK(difference(
                untracked(prod(cast<double>(a), over, keep)),
                test::reduce([](const row& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); },
                             na, mask, keep),
                1e-13) == "");
  }
}

TEST_CASE("reduce: other types") {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const lengths s = d.shape(4, 4000, false);
    const std::uint32_t mask = d.axes(s.size());
    const axes over = test::axes_in(mask, s.size());
    const bool keep = d.chance(2);
    const auto i = d.tensor<std::int32_t>(s);
    const auto u = d.tensor<std::uint8_t>(s);
    const auto b = d.tensor<bool>(s);
    const auto h = d.tensor<half>(s);
    const auto k = d.tensor<std::int16_t>(s);
    const naive ni = naive::of(i), nu = naive::of(u), nb = naive::of(b), nh = naive::of(h), nk = naive::of(k);
    CAPTURE(i.sizes());
    CAPTURE(mask);
    CHECK(difference(untracked(sum(i, over, keep)), test::reduce(sum_of, ni, mask, keep)) == "");
    CHECK(difference(untracked(sum(u, over, keep)), test::reduce(sum_of, nu, mask, keep)) == "");
    CHECK(difference(untracked(max(u, over, keep)), test::reduce(max_of, nu, mask, keep)) == "");
    CHECK(difference(untracked(min(k, over, keep)), test::reduce(min_of, nk, mask, keep)) == "");
    CHECK(difference(untracked(any(i > 8, over, keep)),
                     test::reduce([](const row& v) { return double(max_of(v) > 8); }, ni, mask, keep)) == "");
    CHECK(difference(untracked(all(b, over, keep)), test::reduce(min_of, nb, mask, keep)) == "");
    CHECK(difference(untracked(count_nonzero(b, over, keep)), test::reduce(sum_of, nb, mask, keep)) == "");
    CHECK(difference(untracked(mean(i, over, keep)), test::reduce(mean_of, ni, mask, keep), 1e-6, 1e-6) == "");
    CHECK(difference(untracked(mean(h, over, keep)),
                     test::reduce(
                         [](const row& v) { return double(static_cast<float>(half(static_cast<float>(mean_of(v))))); },
                         nh, mask, keep),
                     2e-3, 1e-3) == "");
  }
  Tensor<std::int64_t> big{std::int64_t{1} << 62, -1, (std::int64_t{1} << 53) + 1};
  CHECK(Tensor<std::int64_t>(max(big)).item() == std::int64_t{1} << 62);
  CHECK(Tensor<std::int64_t>(sum(big)).item() == (std::int64_t{1} << 62) + (std::int64_t{1} << 53));
}

TEST_CASE("reduce: long rows, many short rows, slow axes, on one thread and two") {
  for (const lengths& s : {lengths{4095},
                           {4097},
                           {40000},
                           {300000},
                           {3, 50000},
                           {50000, 3},
                           {100000, 2},
                           {2, 70000, 2},
                           {700, 300},
                           {5, 9000, 4},
                           {1, 33000, 1}}) {
    draw d(static_cast<std::uint32_t>(test::elements(s)));
    const auto a = d.contiguous<float>(s), gaps = d.anywhere<float>(s);
    CAPTURE(a.sizes());
    CAPTURE(gaps.strides());
    for (std::uint32_t mask = 1; mask < (1u << s.size()); ++mask) {
      CAPTURE(mask);
      const axes over = test::axes_in(mask, s.size());
      const naive want = test::reduce(sum_of, naive::of(a), mask, false),
                  want_gaps = test::reduce(sum_of, naive::of(gaps), mask, false);
      const naive want_max = test::reduce(max_of, naive::of(gaps), mask, false);
      naive before, before_square;
      for (int threads : {1, 2}) {
        cpu::set_num_threads(threads);
        const Tensor<float> plain = sum(a, over), square_mean = mean(a * a - gaps, over);
        CHECK(difference(plain, want, 1e-6, 1e-3) == "");
        CHECK(difference(untracked(sum(gaps, over)), want_gaps, 1e-6, 1e-3) == "");
        CHECK(difference(untracked(max(gaps, over)), want_max) == "");
        if (threads == 2) {
          CHECK(difference(plain, before) == "");  // the same bits
          CHECK(difference(square_mean, before_square) == "");
        }
        before = naive::of(plain);
        before_square = naive::of(square_mean);
      }
    }
  }
}

TEST_CASE("reduce: float sums are as accurate as pairwise summation on inputs that are hard to add") {
  const double eps = std::ldexp(1.0, -24);
  for (const std::int64_t n : {1000, 4096, 30000, 1000000}) {
    CAPTURE(n);
    draw d(static_cast<std::uint32_t>(n));
    for (int kind = 0; kind < 4; ++kind) {
      CAPTURE(kind);
      Tensor<float> a(new_tensor(dtype::float32, {n}));
      for (std::int64_t i = 0; i < n; ++i) {
        float& x = a.data()[i];
        if (kind == 0)
          x = i == 0 ? 1e8f : 1.0f;  // one large, many small
        else if (kind == 1)
          x = (i % 2 ? -1.0f : 1.0f) * (1e4f + static_cast<float>(i % 7));  // large ones that cancel
        else if (kind == 2)
          x = 0.1f;  // the same rounding error each time
        else
          x = static_cast<float>(d.real(0, 1));
      }
      double want = 0, magnitude = 0, want_squares = 0;
      for (float x : a.span()) want += x, magnitude += std::abs(x), want_squares += double(x) * x;
      const double bound = std::log2(static_cast<double>(n)) * eps * magnitude + eps * std::abs(want);
      CHECK(std::abs(Tensor<float>(sum(a)).item() - want) <= bound);
      CHECK(std::abs(Tensor<float>(sum(a.reshape({n, 1}).expand({n, 9}).clone(), 0))(4) - want) <= bound);
      CHECK(std::abs(Tensor<float>(sum(tanh(a * 0.0f) + exp(0.0f * a) * a)).item() - want) <= bound);
      CHECK(std::abs(Tensor<float>(sum(a * a)).item() - want_squares) <=
            (std::log2(static_cast<double>(n)) + 2) * eps * want_squares);
    }
  }
}

TEST_CASE("reduce: of nothing, an identity or an error that says so") {
  const Tensor<float> none(new_tensor(dtype::float32, {2, 0}));
  CHECK(difference(untracked(sum(none, 1)), naive({2}, 0)) == "");
  CHECK(difference(untracked(sum(none, 0)), naive({0})) == "");
  CHECK(difference(untracked(prod(none, 1, true)), naive({2, 1}, 1)) == "");
  CHECK(difference(untracked(mean(none, 1)), naive({2}, std::nan(""))) == "");
  CHECK(difference(untracked(var(none)), naive({}, std::nan(""))) == "");
  CHECK(difference(untracked(all(none > 0.0f)), naive({}, 1)) == "");
  CHECK(difference(untracked(any(none > 0.0f, 1)), naive({2}, 0)) == "");
  CHECK(difference(untracked(sum(none * 2.0f) * 3.0f + 1.0f), naive({}, 1)) == "");
  CHECK_THROWS_WITH_AS(Tensor<float>(max(none)), doctest::Contains("max of nothing"), value_error);
  CHECK_THROWS_WITH_AS(Tensor<float>(min(none, 1)), doctest::Contains("[2, 0]"), value_error);
  CHECK(Tensor<float>(max(none, 0)).sizes() == dims{0});
  CHECK(Tensor<float>(softmax(none, 1)).sizes() == dims{2, 0});
}

TEST_CASE("reduce: nan and infinities") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t n : {3, 40, 5000, 40000})
    for (std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      auto a = draw(1).contiguous<float>({n});
      a(at) = inf;
      CHECK(Tensor<float>(max(a)).item() == inf);
      CHECK(Tensor<float>(sum(a)).item() == inf);
      CHECK(Tensor<float>(logsumexp(a)).item() == inf);
      a(at) = nan;
      CHECK(std::isnan(Tensor<float>(max(a)).item()));
      CHECK(std::isnan(Tensor<float>(min(a)).item()));
      CHECK(std::isnan(Tensor<float>(min(a.reshape({n, 1}).expand({n, 4}).clone(), 0))(2)));
      a.fill_(-inf);
      CHECK(Tensor<float>(logsumexp(a)).item() == -inf);
      CHECK(Tensor<float>(max(a)).item() == -inf);
    }
}

TEST_CASE("reduce: axes that are not there are refused by name") {
  const Tensor<float> a{{1, 2}, {3, 4}};
  CHECK_THROWS_WITH_AS(sum(a, 2), doctest::Contains("sum: axis 2"), index_error);
  CHECK_THROWS_WITH_AS(max(a, -3), doctest::Contains("[-2, 1]"), index_error);
  CHECK_THROWS_WITH_AS(mean(a, {0, -2}), doctest::Contains("twice"), value_error);
  CHECK_THROWS_AS(softmax(a, 5), index_error);
  CHECK(Tensor<float>(sum(Tensor<float>(3.0f), -1)).item() == 3);
  CHECK(Tensor<float>(softmax(Tensor<float>(3.0f))).item() == 1);
}

TEST_CASE("reduce: the same bits in every run and on any number of threads") {
  const auto a = test::cancelling(4096, 1000, 3), few = test::cancelling(300000, 3, 4).transpose(0, 1).clone();
  using test::bit_patterns;
  for (const int axis : {0, 1}) {
    CAPTURE(axis);
    CHECK(bit_patterns([&] { return Tensor<float>(sum(a, axis)); }) == 1);
    CHECK(bit_patterns([&] { return Tensor<float>(mean(a * a - a, axis)); }) == 1);
    CHECK(bit_patterns([&] { return Tensor<float>(var(few, axis)); }) == 1);
    CHECK(bit_patterns([&] { return Tensor<float>(sum(few.transpose(0, 1), axis)); }) == 1);
  }
  CHECK(bit_patterns([&] { return Tensor<float>(sum(a)); }) == 1);
  CHECK(bit_patterns([&] { return Tensor<float>(sum(a.narrow(1, 1, 998) * 0.1f)); }) == 1);
  CHECK(bit_patterns([&] { return Tensor<float>(softmax(few, 1)); }, 2) == 1);
}

TEST_CASE("reduce: a strided view has the sum of the tensor that it shows, to the bit") {
  const auto a = draw(1).contiguous<float>({90, 70, 33});
  const float all = Tensor<float>(sum(a)).item(), squares = Tensor<float>(sum(a * a)).item();
  for (const dims& order : {dims{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    CAPTURE(order);
    const auto view = a.permute(order);
    CHECK(Tensor<float>(sum(view)).item() == all);
    CHECK(Tensor<float>(sum(view * view)).item() == squares);
  }
}
