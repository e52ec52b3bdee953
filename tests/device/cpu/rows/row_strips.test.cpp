// SPDX-License-Identifier: BSL-1.0
// Rows in pieces: views with gaps, transposed operands, several row axes, in one pass and several, with results per row
// and per element, beside loops in double.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <kiln/device/cpu/rows/row_strips.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/views.hpp>
#include <support/bits.hpp>
#include <support/compare.hpp>

using namespace kiln;
using detail::untracked;
using test::difference;
using test::draw;
using test::lengths;
using test::naive;

namespace {

using row = std::vector<double>;
double sum_of(const row& v) {
  double s = 0;
  for (double x : v) s += x;
  return s;
}
double var_of(const row& v) {
  double s = 0;
  const double n = static_cast<double>(v.size()), mean = sum_of(v) / n;
  for (double x : v) s += (x - mean) * (x - mean);
  return s / n;
}
double max_of(const row& v) {
  return *std::max_element(v.begin(), v.end());
}
row softmax_of(const row& v) {
  const double most = max_of(v);
  row y;
  double s = 0;
  for (double x : v) y.push_back(std::exp(x - most)), s += y.back();
  for (double& x : y) x /= s;
  return y;
}

// Sum, maximum and variance of a view over each set of axes.
template <class X>
void check(const X& x) {
  CAPTURE(x.sizes());
  CAPTURE(x.strides());
  const naive nx = naive::of(x);
  const std::size_t rank = static_cast<std::size_t>(x.sizes().rank());
  for (std::uint32_t mask = 1; mask < 1u << rank; ++mask) {
    CAPTURE(mask);
    const axes over = test::axes_in(mask, rank);
    CHECK(difference(untracked(sum(x, over)), test::reduce(sum_of, nx, mask, false), 1e-6, 2e-4) == "");
    CHECK(difference(untracked(max(x, over)), test::reduce(max_of, nx, mask, false)) == "");
    CHECK(difference(untracked(var(x, over, false, 0)), test::reduce(var_of, nx, mask, false), 2e-5, 1e-9) == "");
  }
}

}  // namespace

TEST_CASE("row_strips: views with gaps, long and short pieces, every set of axes") {
  for (const int threads : {1, 3}) {
    cpu::set_num_threads(threads);
    check(draw(1).contiguous<float>({60, 1030}).narrow(1, 3, 1000));
    check(draw(2).contiguous<float>({25, 40, 70}).narrow(2, 1, 60));
    check(draw(3).contiguous<float>({3000, 4, 9}).narrow(2, 2, 6));
    check(draw(4).contiguous<float>({90, 4, 100}).permute({1, 2, 0}));
    check(slice(draw(5).contiguous<float>({90, 900}), 1, 0, to_end, 3));
  }
  cpu::set_num_threads(2);
}

TEST_CASE("row_strips: a tensor and its transpose, in tiles") {
  for (const std::int64_t n : {70, 130, 513}) {
    CAPTURE(n);
    const auto a = draw(1).contiguous<float>({n, n}), b = draw(2).contiguous<float>({n, n});
    const naive both =
        test::map([](double x, double y) { return x * y + x; }, naive::of(a), naive::of(b.transpose(0, 1)));
    const auto f = [&] { return a * b.transpose(0, 1) + a; };
    CHECK(difference(untracked(sum(f())), test::reduce(sum_of, both, 3, false), 1e-6, 1e-3) == "");
    CHECK(difference(untracked(max(f())), test::reduce(max_of, both, 3, false), 1e-6) == "");
    CHECK(difference(untracked(var(f(), {}, false, 0)), test::reduce(var_of, both, 3, false), 2e-5) == "");
    CHECK(test::bit_patterns([&] { return Tensor<float>(var(f())); }, 2) == 1);
  }
}

TEST_CASE("row_strips: a result per element, values kept between passes, half types") {
  const auto a = draw(1).contiguous<float>({6, 100, 110}).narrow(2, 5, 90), b = draw(2).contiguous<float>({6, 90, 100});
  const auto turned = b.transpose(1, 2);
  const naive sum_ab = test::map([](double x, double y) { return x + y; }, naive::of(a), naive::of(turned));
  // softmax over the last two axes: that of each row of 9000
  naive want = sum_ab;
  for (std::size_t i = 0; i < 6; ++i) {
    const auto first = sum_ab.values.begin() + static_cast<std::ptrdiff_t>(9000 * i);
    const row s = softmax_of(row(first, first + 9000));
    std::copy(s.begin(), s.end(), want.values.begin() + static_cast<std::ptrdiff_t>(9000 * i));
  }
  const auto shifted = a + turned;
  const auto most = max(shifted, axes{1, 2}, true);
  const auto powers = exp(shifted - most);
  CHECK(difference(untracked(powers / sum(powers, axes{1, 2}, true)), want, 1e-5) == "");
  const Tensor<half> h = cast<half>(a) - mean(cast<half>(a), axes{1, 2}, true);
  const naive means =
      test::reduce([](const row& v) { return sum_of(v) / static_cast<double>(v.size()); }, naive::of(a), 6, true);
  CHECK(difference(h, test::map([](double x, double m) { return x - m; }, naive::of(a), means), 5e-3, 2e-2) == "");
}

TEST_CASE("row_strips: in place, over axes that lie apart") {
  auto x = draw(3).contiguous<float>({100, 3, 100});
  const naive nx = naive::of(x);
  const naive means = test::reduce([](const row& v) { return sum_of(v) / static_cast<double>(v.size()); }, nx, 5, true);
  x -= mean(x, axes{0, 2}, true);
  CHECK(difference(x, test::map([](double v, double m) { return v - m; }, nx, means), 1e-5, 1e-6) == "");
}
