// SPDX-License-Identifier: BSL-1.0
// Equations whose matrices are triangles.
#pragma once

#include <cstdint>
#include <tuple>

#include <kiln/linalg/lu.hpp>

namespace kiln::linalg {

namespace detail {
template <class T, class Device>
Tensor<T, Device> solve_triangle(const Tensor<T, Device>& a, const Tensor<T, Device>& b, bool upper, bool ones_there) {
  if (a.size(-1) != a.size(-2))
    throw shape_error(message("linalg::solve_triangular: shape ", a.sizes(), " has matrices that are not square"));
  auto y = b.detach().clone();
  each_matrix(b, [&](std::int64_t i, const auto&) {
    const auto m = matrix_at(a, i);
    auto to = matrix_at(y, i);
    if (upper)
      ones_there ? substitute<Eigen::UnitUpper>(m, to) : substitute<Eigen::Upper>(m, to);
    else
      ones_there ? substitute<Eigen::UnitLower>(m, to) : substitute<Eigen::Lower>(m, to);
  });
  return with_gradient(
      "linalg::solve_triangular", y, std::tie(a, b), std::tie(a, y),
      [upper, ones_there](const auto& g, const auto& m, const auto& x) {
        const Tensor<T, Device> of_b =
            solve_triangle(Tensor<T, Device>(turned(m).contiguous()), g.contiguous(), !upper, ones_there);
        const Tensor<T, Device> of_a = -matmul(of_b, turned(x));
        const std::int64_t beside = ones_there ? 1 : 0;
        return std::tuple(upper ? Tensor<T, Device>(triu(of_a, beside)) : Tensor<T, Device>(tril(of_a, -beside)), of_b);
      });
}
}  // namespace detail

/// How solve_triangular reads the matrices.
struct triangle_options {
  bool upper = false;          ///< the triangle on and above the diagonal; else that on and below it
  bool unitriangular = false;  ///< the diagonal counts as ones
};

/// x with matmul(a, x) = b, where only one triangle of each a is read: torch.linalg.solve_triangular. Shapes as solve
/// has them. A zero on the diagonal gives infinities and nans. Throws shape_error.
template <Expression A, Expression B>
auto solve_triangular(const A& a, const B& b, triangle_options how) {
  return detail::with_columns(a, b, "linalg::solve_triangular", [&](const auto& m, const auto& columns) {
    return detail::solve_triangle(m, columns, how.upper, how.unitriangular);
  });
}

}  // namespace kiln::linalg
