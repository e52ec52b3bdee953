// SPDX-License-Identifier: BSL-1.0
// Decompositions of symmetric positive definite matrices.
#pragma once

#include <cstdint>

#include <Eigen/Cholesky>

#include <kiln/linalg/triangular.hpp>

namespace kiln::linalg {

/// L, lower triangles with matmul(L, transpose(L)) = x, of symmetric positive definite matrices: torch.linalg.cholesky.
/// Of x the lower triangle is read; the gradient is symmetric (I. Murray, "Differentiation of the Cholesky
/// decomposition", 2016). Throws shape_error; value_error for a matrix that is not positive definite.
template <Expression X>
auto cholesky(const X& x) {
  const auto of = detail::squares_of(x, "linalg::cholesky");
  using made = std::remove_const_t<decltype(of)>;
  using T = typename made::value_type;
  made y = zeros<T, typename decltype(of)::device_type>(of.sizes());
  detail::each_matrix(of, [&](std::int64_t i, const auto& m) {
    const Eigen::LLT<detail::matrix<T>> llt(m);
    // Eigen takes a pivot that is not a number for positive.
    if (llt.info() != Eigen::Success || !(llt.matrixLLT().diagonal().array() > T(0)).all())
      throw value_error(message("linalg::cholesky: the matrix is not positive definite", detail::which(of, i),
                                ": add a small number to its diagonal if it should be"));
    detail::matrix_at(y, i) = llt.matrixL();
  });
  return with_gradient("linalg::cholesky", y, std::tie(of), std::tie(y), [](const auto& g, const auto& l) {
    const made product = matmul(detail::turned(l), g);
    const made lower = tril(product) - 0.5F * tril(triu(product));  // half of the diagonal
    const made upper_l = detail::turned(l);
    const made left = solve_triangular(upper_l, lower, {.upper = true});  // L^-T P
    const made both =
        detail::turned(made(solve_triangular(upper_l, detail::turned(left), {.upper = true})));  // .. L^-1
    return 0.5F * (both + detail::turned(both));
  });
}

}  // namespace kiln::linalg
