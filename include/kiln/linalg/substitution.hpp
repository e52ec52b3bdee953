// SPDX-License-Identifier: BSL-1.0
// Equations of one triangle at any scale. Eigen multiplies by the reciprocals of the diagonal, which are infinite or
// inaccurate where its elements are very small or large: such triangles divide by them.
#pragma once

#include <cmath>

#include <Eigen/Core>
#include <Eigen/LU>

namespace kiln::linalg::detail {

/// Replaces `to` by X with matmul(A, X) = `to`, where Mode (Eigen::Upper, Eigen::UnitLower ...) says which triangle of
/// `m` is A. A zero on the diagonal gives infinities and nans.
template <unsigned Mode, class M, class To>
void substitute(const M& m, To&& to) {
  using T = typename M::Scalar;
  bool reciprocals = true;
  if constexpr (!(Mode & Eigen::UnitDiag))
    for (Eigen::Index i = 0; i < m.rows(); ++i) reciprocals &= std::isnormal(T(1) / m(i, i));
  if (reciprocals) return m.template triangularView<Mode>().solveInPlace(to);
  for (Eigen::Index k = 0; k < m.rows(); ++k) {
    const bool upper = (Mode & Eigen::Upper) != 0;
    const Eigen::Index i = upper ? m.rows() - 1 - k : k, from = upper ? i + 1 : 0;
    to.row(i) -= m.row(i).segment(from, k) * to.middleRows(from, k);
    to.row(i) /= m(i, i);
  }
}

/// X with matmul(A, X) = `right`, of A that was factored.
template <class M, class Right>
M solved(const Eigen::PartialPivLU<M>& lu, const Right& right) {
  M to = lu.permutationP() * right;
  substitute<Eigen::UnitLower>(lu.matrixLU(), to);
  substitute<Eigen::Upper>(lu.matrixLU(), to);
  return to;
}

/// The determinant of a matrix that was factored. Neither overflows nor underflows on the way.
template <class M>
auto determinant(const Eigen::PartialPivLU<M>& lu) {
  auto product = static_cast<typename M::Scalar>(lu.permutationP().determinant());
  int exponent = 0;
  for (Eigen::Index i = 0; i < lu.rows(); ++i) {
    int of_pivot = 0, of_product = 0;
    product *= std::frexp(lu.matrixLU()(i, i), &of_pivot);
    product = std::frexp(product, &of_product);
    if (product == 0 || !std::isfinite(product)) return product;
    exponent += of_pivot + of_product;
  }
  return std::scalbn(product, exponent);
}

}  // namespace kiln::linalg::detail
