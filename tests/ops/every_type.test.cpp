// SPDX-License-Identifier: BSL-1.0
// Every reduction and function of rows on every element type that it takes, in the shapes that have kernels of their
// own (along rows, across them, all at once), against loops in double. tests/compiled runs this by the headers alone,
// too.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <kiln/kiln.hpp>

using namespace kiln;

namespace {

constexpr std::int64_t rows = 5, columns = 37;

// Small whole numbers, which every type holds and whose sums are exact.
double element(std::int64_t i) {
  return static_cast<double>((i * 7 + 3) % 5) - 1;
}
template <class T>
Tensor<T> drawn() {
  auto x = empty<T>({rows, columns});
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double value = std::is_unsigned_v<T> ? std::abs(element(i)) : element(i);
    if constexpr (std::is_same_v<T, bool>)
      x.data()[i] = value == 3;
    else
      x.data()[i] = static_cast<T>(static_cast<compute_t<T>>(value));
  }
  return x;
}
template <class T>
double number(T x) {
  return static_cast<double>(static_cast<compute_t<T>>(x));
}

template <class T, class F, class Want>
void check(const char* name, F f, Want want, double tolerance = 0) {
  const Tensor<T> x = drawn<T>();
  for (const int axis : {0, 1, 2}) {
    CAPTURE(name);
    CAPTURE(axis);
    const auto y = f(x, axis == 2 ? axes() : axes(axis)).eval();
    for (std::int64_t k = 0; k < y.numel(); ++k) {
      std::vector<double> folded;
      for (std::int64_t i = 0; i < x.numel(); ++i)
        if (axis == 2 || (axis == 1 ? i / columns : i % columns) == k) folded.push_back(number(x.data()[i]));
      const double right = want(folded), got = number(y.data()[k]);
      CHECK(std::abs(got - right) <= tolerance * (1 + std::abs(right)));
    }
  }
}
// A function of rows: as many elements as before.
template <class T, class F, class Want>
void check_rows(const char* name, F f, Want want) {
  const Tensor<T> x = drawn<T>();
  for (const int axis : {0, 1}) {
    CAPTURE(name);
    CAPTURE(axis);
    const auto y = f(x, axes(axis)).eval();
    for (std::int64_t at = 0; at < x.numel(); ++at) {
      std::vector<double> row;
      for (std::int64_t i = 0; i < x.numel(); ++i)
        if (axis == 1 ? i / columns == at / columns : i % columns == at % columns) row.push_back(number(x.data()[i]));
      const double right = want(row, number(x.data()[at]));
      CHECK(std::abs(number(y.data()[at]) - right) <= 2e-2 * (1 + std::abs(right)));
    }
  }
}

double total(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum;
}
double mean_of(const std::vector<double>& v) {
  return total(v) / static_cast<double>(v.size());
}
double squares_about(const std::vector<double>& v, double centre) {
  double sum = 0;
  for (const double x : v) sum += (x - centre) * (x - centre);
  return sum;
}
double exponentials(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += std::exp(x);
  return sum;
}

template <class T>
void check_type() {
  using numbers = const std::vector<double>&;
  // Half types round sums of hundreds.
  constexpr double rounding = is_floating(dtype_of<T>) && sizeof(T) == 2 ? 2e-2 : 1e-5;
  const double exact = is_floating(dtype_of<T>) ? rounding : 0;
  check<T>(
      "sum", [](const auto& x, axes a) { return sum(x, a); }, [](numbers v) { return total(v); }, exact);
  check<T>(
      "prod", [](const auto& x, axes a) { return prod(x, a); },
      [](numbers v) { return std::count(v.begin(), v.end(), 0.0) > 0 ? 0.0 : 1.0; }, 0);
  check<T>(
      "max", [](const auto& x, axes a) { return max(x, a); },
      [](numbers v) { return *std::max_element(v.begin(), v.end()); });
  check<T>(
      "min", [](const auto& x, axes a) { return min(x, a); },
      [](numbers v) { return *std::min_element(v.begin(), v.end()); });
  check<T>(
      "any", [](const auto& x, axes a) { return any(x, a); },
      [](numbers v) {
        return std::count(v.begin(), v.end(), 0.0) < static_cast<std::ptrdiff_t>(v.size()) ? 1.0 : 0.0;
      });
  check<T>(
      "all", [](const auto& x, axes a) { return all(x, a); },
      [](numbers v) { return std::count(v.begin(), v.end(), 0.0) == 0 ? 1.0 : 0.0; });
  check<T>(
      "count_nonzero", [](const auto& x, axes a) { return count_nonzero(x, a); },
      [](numbers v) {
        return static_cast<double>(v.size()) - static_cast<double>(std::count(v.begin(), v.end(), 0.0));
      });
  check<T>(
      "mean", [](const auto& x, axes a) { return mean(x, a); }, mean_of, rounding);
  check<T>(
      "norm", [](const auto& x, axes a) { return norm(x, a); },
      [](numbers v) { return std::sqrt(squares_about(v, 0)); }, rounding);
  if constexpr (is_floating(dtype_of<T>)) {
    check<T>(
        "var", [](const auto& x, axes a) { return var(x, a); },
        [](numbers v) { return squares_about(v, mean_of(v)) / (static_cast<double>(v.size()) - 1); }, rounding);
    check<T>(
        "std", [](const auto& x, axes a) { return stddev(x, a); },
        [](numbers v) { return std::sqrt(squares_about(v, mean_of(v)) / (static_cast<double>(v.size()) - 1)); },
        rounding);
    check<T>(
        "logsumexp", [](const auto& x, axes a) { return logsumexp(x, a); },
        [](numbers v) { return std::log(exponentials(v)); }, rounding);
    check_rows<T>(
        "softmax", [](const auto& x, axes a) { return softmax(x, a); },
        [](numbers v, double x) { return std::exp(x) / exponentials(v); });
    check_rows<T>(
        "log_softmax", [](const auto& x, axes a) { return log_softmax(x, a); },
        [](numbers v, double x) { return x - std::log(exponentials(v)); });
    check_rows<T>(
        "layer_norm", [](const auto& x, axes a) { return layer_norm(x, a); },
        [](numbers v, double x) {
          return (x - mean_of(v)) / std::sqrt(squares_about(v, mean_of(v)) / static_cast<double>(v.size()) + 1e-5);
        });
    check_rows<T>(
        "rms_norm", [](const auto& x, axes a) { return rms_norm(x, a); },
        [](numbers v, double x) { return x / std::sqrt(squares_about(v, 0) / static_cast<double>(v.size()) + 1e-6); });
  }
}

}  // namespace

// Kernels of their own take long to compile: one type of each kind.
#ifdef KILN_INTERPRET
TEST_CASE_TEMPLATE("every type: reductions and functions of rows", T, bool, std::uint8_t, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, half, bfloat16, float, double) {
#else
TEST_CASE_TEMPLATE("every type: reductions and functions of rows", T, bool, std::int16_t, half, float) {
#endif
  check_type<T>();
}
TEST_CASE("every type: max and min of bool are of type bool, and of nothing an error") {
  const Tensor<bool> x{true, false, true};
  CHECK(max(x).eval().item());
  CHECK_FALSE(min(x).eval().item());
  static_assert(std::is_same_v<decltype(max(x))::value_type, bool>);
  CHECK_THROWS_AS(max(zeros<bool>({0})).eval(), value_error);
  CHECK_THROWS_AS(min(zeros<bool>({3, 0}), 1).eval(), value_error);
}
