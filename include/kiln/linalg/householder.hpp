// SPDX-License-Identifier: BSL-1.0
// QR by Householder reflections at any scale. Eigen's squares the elements, which underflow or overflow where these are
// very small or large: such matrices take the reflections below, which scale each column by a power of two first.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <Eigen/QR>

namespace kiln::linalg::detail {

/// Whether the squares of all elements, and of their rounding errors, are normal numbers far from the largest. Zeros
/// and what is not finite do not count.
template <class M>
bool squares_well(const M& m) {
  using T = typename M::Scalar;
  using limits = std::numeric_limits<T>;
  constexpr int reach = (-limits::min_exponent - 2 * limits::digits) / 2;
  const T least = std::ldexp(T(1), -reach), most = std::ldexp(T(1), reach);
  bool well = true;
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j) {
      const T size = std::abs(m(i, j));
      well &= size == 0 || !(size < least || size > most) || !std::isfinite(size);
    }
  return well;
}
/// The power of two that brings a size into [0.5, 1); 0 for zero and for what is not finite.
template <class T>
int exponent_of(T size) {
  int exponent = 0;
  if (std::isfinite(size)) std::frexp(size, &exponent);
  return exponent;
}
/// Multiplies all elements by 2^exponent. Not by one number: none holds the powers that subnormal numbers need.
template <class M>
void scale_by(M&& m, int exponent) {
  if (exponent != 0) m = m.unaryExpr([exponent](auto x) { return std::scalbn(x, exponent); });
}

/// The reflection H = I - tau v v^T that takes a column to a multiple of its first element (LAPACK's larfg). The column
/// becomes that multiple and, below it, v without its first element, which is 1. Returns tau.
template <class C>
auto reflection(C&& column) {
  using T = typename std::decay_t<C>::Scalar;
  const Eigen::Index below = column.size() - 1;
  if (below == 0 || column.tail(below).cwiseAbs().maxCoeff() == 0) return T(0);
  const int exponent = exponent_of(column.cwiseAbs().maxCoeff());
  scale_by(column, -exponent);
  const T first = column(0), length = std::copysign(column.norm(), first);
  column.tail(below) /= first + length;
  column(0) = std::scalbn(-length, exponent);
  return (first + length) / length;
}

/// Q, as many orthonormal columns as the matrix has rows or columns, whichever is less, and upper triangle R.
template <class M>
std::pair<M, M> orthogonal_triangular(const Eigen::Ref<const M>& m) {
  using T = typename M::Scalar;
  const Eigen::Index least = std::min(m.rows(), m.cols());
  if (squares_well(m)) {
    const Eigen::HouseholderQR<M> found(m);
    return {found.householderQ() * M::Identity(m.rows(), least),
            found.matrixQR().topRows(least).template triangularView<Eigen::Upper>()};
  }
  M work = m;
  Eigen::VectorXi exponents(m.cols());
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    exponents(j) = exponent_of(m.col(j).cwiseAbs().maxCoeff());
    scale_by(work.col(j), -exponents(j));
  }
  Eigen::Matrix<T, Eigen::Dynamic, 1> tau(least);
  auto reflect = [&](M& of, Eigen::Index k, Eigen::Index j) {
    const auto v = work.col(k).tail(m.rows() - k - 1);
    const T along = tau(k) * (of(k, j) + v.dot(of.col(j).tail(v.size())));
    of(k, j) -= along;
    of.col(j).tail(v.size()) -= along * v;
  };
  for (Eigen::Index k = 0; k < least; ++k) {
    tau(k) = reflection(work.col(k).tail(m.rows() - k));
    for (Eigen::Index j = k + 1; j < m.cols(); ++j) reflect(work, k, j);
  }
  M q = M::Identity(m.rows(), least), r = work.topRows(least).template triangularView<Eigen::Upper>();
  for (Eigen::Index k = least; k-- > 0;)
    for (Eigen::Index j = k; j < least; ++j) reflect(q, k, j);
  for (Eigen::Index j = 0; j < m.cols(); ++j) scale_by(r.col(j), exponents(j));
  return {q, r};
}

}  // namespace kiln::linalg::detail
