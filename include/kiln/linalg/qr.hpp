// SPDX-License-Identifier: BSL-1.0
// Orthogonal columns and triangles, and equations with more rows than unknowns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <kiln/linalg/householder.hpp>
#include <kiln/linalg/triangular.hpp>

namespace kiln::linalg {

/// What qr gives.
template <class T, class Device>
struct orthogonal_and_triangle {
  Tensor<T, Device> q;  ///< orthonormal columns, as many as the matrix has of rows or columns, whichever is less
  Tensor<T, Device> r;  ///< upper triangles
};

/// Q and R with matmul(Q, R) = x: torch.linalg.qr, "reduced". Gradients of matrices that have at least as many rows as
/// columns and full rank (S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010);
/// those of others throw graph_error. Throws shape_error.
template <Expression X>
auto qr(const X& x) {
  const auto of = detail::stack_of(x, "linalg::qr");
  using made = std::remove_const_t<decltype(of)>;
  using T = typename made::value_type;
  using Device = typename made::device_type;
  const std::int64_t rows = of.size(-2), columns = of.size(-1), least = std::min(rows, columns);
  made plain_q = zeros<T, Device>(detail::sizes_like(of.sizes(), {rows, least}));
  made plain_r = zeros<T, Device>(detail::sizes_like(of.sizes(), {least, columns}));
  detail::each_matrix(of, [&](std::int64_t i, const auto& m) {
    const auto found = detail::orthogonal_triangular<detail::matrix<T>>(m);
    detail::matrix_at(plain_q, i) = found.first;
    detail::matrix_at(plain_r, i) = found.second;
  });
  // (G + Q copied(M)) R^-T, M of the one or the other gradient; copied: its lower triangle, above as well.
  const auto along = [](const auto& of_q, const made& m, const made& q, const made& r) {
    if (r.size(-2) != r.size(-1))
      throw graph_error("backward: linalg::qr has a gradient only where matrices have no more columns than rows");
    const made whole = of_q + matmul(q, detail::mirrored(m));
    return made(detail::turned(made(solve_triangular(r, detail::turned(whole), {.upper = true}))));
  };
  const made q = with_gradient("linalg::qr", plain_q, std::tie(of), std::tie(of, plain_q),
                               [along](const auto& g, const auto& m, const auto& basis) {
                                 const made triangle = triu(matmul(detail::turned(basis), m));
                                 return along(g, made(-matmul(detail::turned(g), basis)), basis, triangle);
                               });
  const made r =
      with_gradient("linalg::qr", plain_r, std::tie(of), std::tie(q, plain_r),
                    [along](const auto& g, const auto& basis, const auto& triangle) {
                      return along(zeros_like(basis), made(matmul(triangle, detail::turned(g))), basis, triangle);
                    });
  return orthogonal_and_triangle<T, Device>{q, r};
}

namespace detail {
/// Throws value_error where the diagonal of a triangle says, to rounding, that a column depends on those before it.
/// Each is compared with its own length: a small column may be as independent as the others.
template <class T, class Device>
void check_rank(const Tensor<T, Device>& r) {
  each_matrix(r.detach(), [&](std::int64_t i, const auto& m) {
    for (Eigen::Index k = 0; k < m.cols(); ++k) {
      const T longest = m.col(k).head(k + 1).cwiseAbs().maxCoeff();
      if (std::abs(m(k, k)) <= static_cast<T>(m.cols()) * std::numeric_limits<T>::epsilon() * longest)
        throw value_error(message("linalg::lstsq: the columns depend on each other", which(r, i),
                                  ": matmul(pinv(a), b) is the shortest of all solutions"));
    }
  });
}
}  // namespace detail

/// x for which the squares of matmul(a, x) - b have the least sum, of matrices with at least as many rows as columns
/// and full rank: torch.linalg.lstsq. Shapes as solve has them. Throws shape_error; value_error for columns that depend
/// on each other.
template <Expression A, Expression B>
auto lstsq(const A& a, const B& b) {
  return detail::with_columns(a, b, "linalg::lstsq", [](const auto& m, const auto& columns) {
    if (m.size(-2) < m.size(-1))
      throw shape_error(message("linalg::lstsq: shape ", m.sizes(),
                                " has fewer rows than columns: matmul(pinv(a), b) is the shortest of all solutions"));
    const auto [q, r] = qr(m);
    detail::check_rank(r);
    return solve_triangular(r, matmul(detail::turned(q), columns), {.upper = true});
  });
}

}  // namespace kiln::linalg
