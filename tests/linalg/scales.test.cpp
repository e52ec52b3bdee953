// SPDX-License-Identifier: BSL-1.0
// Every function of linalg at 25 scales from the smallest subnormal number to the largest, and with rows and columns of
// mixed scales, against products written out in long double and against solutions that are known because the equations
// were made from them. The elements are small whole numbers times powers of two, so that no scale rounds them.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <kiln/kiln.hpp>
#include <kiln/linalg.hpp>
#include <support/said.hpp>

using namespace kiln;

namespace {

using wide = long double;
using exponents = std::array<int, 4>;

// rows x 3 whole numbers; 3 x 3: all minors on the left differ from 0, so that any order of pivots will do.
constexpr int tall[4][3] = {{2, -1, 1}, {1, 3, -2}, {-3, 1, 4}, {1, 2, 3}};
// Symmetric and positive definite.
constexpr int definite[3][3] = {{4, 1, -2}, {1, 3, 1}, {-2, 1, 4}};

template <class T, std::size_t Rows>
Tensor<T> scaled(const int (&m)[Rows][3], std::int64_t rows, const exponents& of_rows, const exponents& of_columns) {
  auto made = empty<T>({rows, 3});
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < 3; ++j) {
      const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
      made(i, j) = std::scalbn(static_cast<T>(m[i][j]), of_rows[r] + of_columns[c]);
    }
  return made;
}
template <class T>
wide largest(const Tensor<T>& x) {
  wide most = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) most = std::max(most, std::abs(static_cast<wide>(x.data()[i])));
  return most;
}
// a b - c, element by element, each over its bound(i, j); infinite for a nan.
template <class T, class Bound>
wide off(const Tensor<T>& a, const Tensor<T>& b, const Tensor<T>& c, Bound bound) {
  wide worst = 0;
  for (std::int64_t i = 0; i < c.size(0); ++i)
    for (std::int64_t j = 0; j < c.size(1); ++j) {
      wide sum = -static_cast<wide>(c(i, j));
      for (std::int64_t k = 0; k < a.size(1); ++k) sum += static_cast<wide>(a(i, k)) * static_cast<wide>(b(k, j));
      const wide ratio = std::abs(sum) / bound(i, j);
      worst = std::isnan(ratio) ? HUGE_VALL : std::max(worst, ratio);
    }
  return worst;
}
template <class T>
constexpr wide eps = std::numeric_limits<T>::epsilon();
template <class T>
constexpr wide quantum = std::numeric_limits<T>::denorm_min();
// What rounding may leave of numbers of a size.
template <class T>
auto within(wide size, wide times = 1) {
  return [size, times](auto...) { return 40 * eps<T> * size + 40 * quantum<T> * std::max<wide>(times, 1); };
}
template <class T>
void check_orthogonal(const Tensor<T>& q) {
  CHECK(off(Tensor<T>(transpose(q, 0, 1)), q, eye<T>(q.size(1)), within<T>(1)) < 1);
}

template <class T>
void check_qr(const Tensor<T>& m) {
  const auto [q, r] = linalg::qr(m);
  check_orthogonal(q);
  CHECK(off(q, r, m, [&, &r = r](std::int64_t, std::int64_t j) {  // each column beside its own size
          wide size = 0;
          for (std::int64_t i = 0; i < m.size(0); ++i) size = std::max(size, std::abs(static_cast<wide>(m(i, j))));
          return within<T>(size)();
        }) < 1);
  CHECK((r(1, 0) == 0 && r(2, 0) == 0 && r(2, 1) == 0));
}

// Equations made from their solution, (1, 2, -3) over the scales of the columns.
template <class T>
Tensor<T> solution(const exponents& of_columns, int scale) {
  auto x = empty<T>({3, 1});
  constexpr int known[] = {1, 2, -3};
  for (int j = 0; j < 3; ++j)
    x(j, 0) = std::scalbn(static_cast<T>(known[j]), scale - of_columns[static_cast<std::size_t>(j)]);
  return x;
}
// The right sides, of numbers that no scale rounds either.
template <class T>
Tensor<T> right_sides(std::int64_t rows, const exponents& of_rows, int scale) {
  auto b = empty<T>({rows, 1});
  for (int i = 0; i < rows; ++i) {
    const int sum = tall[i][0] + 2 * tall[i][1] - 3 * tall[i][2];
    b(i, 0) = std::scalbn(static_cast<T>(sum), of_rows[static_cast<std::size_t>(i)] + scale);
  }
  return b;
}
// The least power of two at work, beside which a subnormal number's rounding counts.
template <class T>
wide coarseness(const exponents& of_rows, const exponents& of_columns) {
  wide worst = eps<T>;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      worst = std::max(worst, quantum<T> / std::scalbn(wide(1), of_rows[static_cast<std::size_t>(i)] +
                                                                    of_columns[static_cast<std::size_t>(j)]));
  return worst;
}
template <class T>
void check_solution(const Tensor<T>& x, const Tensor<T>& known, wide relative) {
  for (int j = 0; j < 3; ++j) {
    const wide want = known(j, 0);
    CHECK(std::abs(static_cast<wide>(x(j, 0)) - want) <= 100 * relative * std::abs(want) + 2 * quantum<T>);
  }
}

template <class T>
void check_equations(const exponents& of_rows, const exponents& of_columns, bool least_squares) {
  const wide relative = coarseness<T>(of_rows, of_columns);
  // Solutions near 1; then, without the scale of the right sides, near the inverse of the scale.
  for (const int scale : {0, -of_rows[0] - of_columns[0]}) {
    const Tensor<T> known = solution<T>(of_columns, scale);
    if (std::isinf(largest(known)) || largest(known) < quantum<T> / eps<T>) continue;
    const Tensor<T> square = scaled<T>(tall, 3, of_rows, of_columns), b = right_sides<T>(3, of_rows, scale);
    check_solution(Tensor<T>(linalg::solve(square, b)), known, relative);
    if (least_squares)
      check_solution(
          Tensor<T>(linalg::lstsq(scaled<T>(tall, 4, of_rows, of_columns), right_sides<T>(4, of_rows, scale))), known,
          relative);
  }
  // The triangle on and below the diagonal of the same matrix.
  const Tensor<T> triangle = tril(scaled<T>(tall, 3, of_rows, of_columns));
  const Tensor<T> known = solution<T>(of_columns, 0);
  if (std::isinf(largest(known))) return;  // whatever meets it is inf or nan too
  auto b = empty<T>({3, 1});
  constexpr int known_here[] = {1, 2, -3};
  for (int i = 0; i < 3; ++i) {
    int sum = 0;
    for (int j = 0; j <= i; ++j) sum += tall[i][j] * known_here[j];
    b(i, 0) = std::scalbn(static_cast<T>(sum), of_rows[static_cast<std::size_t>(i)]);
  }
  check_solution(Tensor<T>(linalg::solve_triangular(triangle, b, {.upper = false})), known, relative);
}

template <class T>
void check_determinant(const exponents& of_rows, const exponents& of_columns) {
  // By hand: 2 (12 + 2) + 1 (4 - 6) + 1 (1 + 9).
  int exponent = 0;
  for (int i = 0; i < 3; ++i)
    exponent += of_rows[static_cast<std::size_t>(i)] + of_columns[static_cast<std::size_t>(i)];
  const wide want = static_cast<T>(std::scalbn(wide(36), exponent)), relative = coarseness<T>(of_rows, of_columns);
  const Tensor<T> m = scaled<T>(tall, 3, of_rows, of_columns);
  const wide got = linalg::det(m).item();
  CHECK((std::isinf(want) ? std::isinf(got) : std::abs(got - want) <= 100 * relative * want + 2 * quantum<T>));
  const auto [sign, logarithm] = linalg::slogdet(m);
  CHECK(sign.item() == 1);
  const wide log = std::log(wide(36)) + std::log(wide(2)) * exponent;
  CHECK(std::abs(static_cast<wide>(logarithm.item()) - log) <= 100 * relative + 10 * eps<T> * std::abs(log));
}

// Singular values and eigenvalues beside the size of the matrix; the triangle, element by element, beside those of its
// diagonal.
template <class T>
void check_spectra(const Tensor<T>& m, const Tensor<T>& positive) {
  // Of doubles alone: these take long to compile, and bring all to one size first.
  if constexpr (std::is_same_v<T, double>) {
    const auto bound = within<T>(std::max(largest(m), largest(positive)));
    const auto [u, s, vh] = linalg::svd(m);
    check_orthogonal(u);
    check_orthogonal(Tensor<T>(transpose(vh, 0, 1)));
    auto us = u.clone();
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 3; ++j) us(i, j) = u(i, j) * s(j);
    CHECK(off(us, vh, m, bound) < 1);
    CHECK(largest(Tensor<T>(linalg::svdvals(m) - s)) <= bound());
    const auto [values, vectors] = linalg::eigh(positive);
    check_orthogonal(vectors);
    auto scaled_vectors = vectors.clone();
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) scaled_vectors(i, j) = vectors(i, j) * values(j);
    CHECK(off(positive, vectors, scaled_vectors, bound) < 1);
    CHECK(largest(Tensor<T>(linalg::eigvalsh(positive) - values)) <= bound());
  }
  const Tensor<T> l = linalg::cholesky(positive);
  CHECK(off(l, Tensor<T>(transpose(l, 0, 1)), positive, [&](std::int64_t i, std::int64_t j) {
          return within<T>(std::sqrt(static_cast<wide>(positive(i, i))) *
                           std::sqrt(static_cast<wide>(positive(j, j))))();
        }) < 1);
}

// Of one scale.
template <class T>
void check_others(int e) {
  const exponents rows{e, e, e, e}, none{};
  const wide relative = coarseness<T>(rows, none);
  const Tensor<T> m = scaled<T>(tall, 4, rows, none), square = scaled<T>(tall, 3, rows, none);
  const Tensor<T> positive = scaled<T>(definite, 3, rows, none);
  check_spectra(m, positive);
  if constexpr (std::is_same_v<T, double>) CHECK(linalg::matrix_rank(m).item() == 3);
  // Their elements are near the reciprocal of the scale.
  const wide reciprocal = std::scalbn(wide(1), -e);
  if (reciprocal > std::numeric_limits<T>::max() / 8 || reciprocal < quantum<T> / eps<T>) return;
  const auto near_one = [&](auto...) { return 400 * relative; };
  CHECK(off(square, Tensor<T>(linalg::inv(square)), eye<T>(3), near_one) < 1);
  if constexpr (std::is_same_v<T, double>) CHECK(off(Tensor<T>(linalg::pinv(m)), m, eye<T>(3), near_one) < 1);
}

template <class T>
void check_all() {
  using limits = std::numeric_limits<T>;
  constexpr int least = limits::min_exponent - limits::digits, most = limits::max_exponent - 5;
  for (int k = 0; k < 25; ++k) {
    const int e = least + (most - least) * k / 24;
    CAPTURE(e);
    const exponents rows{e, e, e, e}, none{};
    check_qr(scaled<T>(tall, 4, rows, none));
    check_qr(Tensor<T>(transpose(scaled<T>(tall, 4, rows, none), 0, 1)));
    check_equations<T>(rows, none, true);
    check_determinant<T>(rows, none);
    check_others<T>(e);
    // One column, then one row, of this scale beside others of 1; and all of different ones.
    for (int at = 0; at < 3; ++at) {
      exponents one{};
      one[static_cast<std::size_t>(at)] = e;
      check_qr(scaled<T>(tall, 4, none, one));
      check_qr(scaled<T>(tall, 4, one, none));
      check_equations<T>(none, one, true);
      check_equations<T>(one, none, false);
      check_determinant<T>(none, one);
      check_determinant<T>(one, none);
    }
    const exponents falling{e, e / 2, 0, -e / 3};
    check_qr(scaled<T>(tall, 4, none, falling));
    check_qr(scaled<T>(tall, 4, falling, none));
    check_equations<T>(none, falling, true);
    check_determinant<T>(none, falling);
    const exponents both{e / 2, e / 4, 0, 0};
    check_spectra(scaled<T>(tall, 4, none, falling), scaled<T>(definite, 3, both, both));
  }
}

}  // namespace

TEST_CASE("scales: the functions of linalg, of float elements from the smallest to the largest") {
  check_all<float>();
}
TEST_CASE("scales: every function of linalg, of double elements from the smallest to the largest") {
  check_all<double>();
}
TEST_CASE("scales: matrix_power's square") {
  for (int e = -70; e <= 60; e += 10) {
    const Tensor<float> m = scaled<float>(tall, 3, {e, e, e, e}, {});
    CHECK(off(m, m, Tensor<float>(linalg::matrix_power(m, 2)), within<float>(std::scalbn(wide(16), 2 * e))) < 1);
  }
}
TEST_CASE("cholesky: a matrix with a nan is refused, wherever it is") {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      Tensor<double> m = scaled<double>(definite, 3, {}, {});
      m(i, j) = std::nan("");
      CHECK(test::holds(test::said<value_error>([&] { linalg::cholesky(m); }), "not positive definite"));
      m(i, j) = HUGE_VAL;
      if (i != j) CHECK(test::holds(test::said<value_error>([&] { linalg::cholesky(m); }), "not positive definite"));
    }
}
