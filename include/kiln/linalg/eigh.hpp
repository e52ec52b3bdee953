// SPDX-License-Identifier: BSL-1.0
// Eigenvalues and eigenvectors of symmetric matrices.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include <Eigen/Eigenvalues>

#include <kiln/linalg/matrices.hpp>

namespace kiln::linalg {

/// What eigh gives: matmul(x, vectors) = vectors * values, by columns.
template <class T, class Device>
struct eigenvalues_and_vectors {
  Tensor<T, Device> eigenvalues;   ///< of each matrix, rising
  Tensor<T, Device> eigenvectors;  ///< the columns of each matrix, of length 1
};

namespace detail {
template <class T, class Device>
auto eigen_pairs(const Tensor<T, Device>& of, bool with_vectors) {
  auto values = zeros<T, Device>(sizes_like(of.sizes(), {of.size(-1)}));
  auto vectors = zeros<T, Device>(of.sizes());
  each_matrix(of, [&](std::int64_t i, const auto& m) {
    const Eigen::SelfAdjointEigenSolver<matrix<T>> solver(
        m, with_vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
    if (solver.info() != Eigen::Success)
      throw value_error(message("linalg::eigh: the eigenvalues do not converge", which(of, i),
                                ": is an element infinite or not a number?"));
    vector_at(values, i) = solver.eigenvalues();
    if (with_vectors) matrix_at(vectors, i) = solver.eigenvectors();
  });
  return std::pair(values, vectors);
}
}  // namespace detail

/// Eigenvalues and eigenvectors of symmetric matrices, of which the lower triangle is read: torch.linalg.eigh. The sign
/// of an eigenvector is not determined, and where eigenvalues are equal, nor are their eigenvectors: gradients that
/// depend on either are not, or are infinite. Throws shape_error; value_error if they do not converge.
template <Expression X>
auto eigh(const X& x) {
  const auto of = detail::squares_of(x, "linalg::eigh");
  using made = std::remove_const_t<decltype(of)>;
  using T = typename made::value_type;
  using Device = typename made::device_type;
  auto [values, plain] = detail::eigen_pairs(of, true);
  // By M. Giles; the eigenvalues anew from what is kept, for derivatives of derivatives.
  const made vectors = with_gradient(
      "linalg::eigh", plain, std::tie(of), std::tie(of, plain), [](const auto& g, const auto& m, const auto& v) {
        const made l = diagonal(made(matmul(matmul(detail::turned(v), detail::mirrored(m)), v)));
        const auto gaps = unsqueeze(l, -2) - unsqueeze(l, -1);
        const made diagonals = expand(eye<T, Device>(l.size(-1)), m.sizes());
        const made f = (1 - diagonals) / where(diagonals == 1, 1, gaps);
        const made inner = f * made(matmul(detail::turned(v), g));
        const made whole = matmul(matmul(v, inner), detail::turned(v));
        return 0.5F * (whole + detail::turned(whole));
      });
  return eigenvalues_and_vectors<T, Device>{
      with_gradient("linalg::eigh", values, std::tie(of), std::tie(vectors),
                    [](const auto& g, const auto& v) { return matmul(made(v * unsqueeze(g, -2)), detail::turned(v)); }),
      vectors};
}

/// The eigenvalues alone, rising: torch.linalg.eigvalsh.
template <Expression X>
auto eigvalsh(const X& x) {
  const auto of = detail::squares_of(x, "linalg::eigvalsh");
  if (of.needs_grad() && grad_enabled()) return eigh(of).eigenvalues;  // which needs the vectors
  return detail::eigen_pairs(of, false).first;
}

}  // namespace kiln::linalg
