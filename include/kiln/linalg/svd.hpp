// SPDX-License-Identifier: BSL-1.0
// Singular values and what they tell: rank and pseudoinverse.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <Eigen/SVD>

#include <kiln/linalg/matrices.hpp>

namespace kiln::linalg {

/// What svd gives: x is matmul(u * s, vh).
template <class T, class Device>
struct singular_values_and_vectors {
  Tensor<T, Device> u;   ///< orthonormal columns, as many as the matrix has of rows or columns, whichever is less
  Tensor<T, Device> s;   ///< singular values, falling
  Tensor<T, Device> vh;  ///< orthonormal rows, as many
};

namespace detail {
template <class T, class Device>
singular_values_and_vectors<T, Device> singular(const Tensor<T, Device>& of, bool with_vectors, const char* function) {
  const std::int64_t rows = of.size(-2), columns = of.size(-1), least = std::min(rows, columns);
  singular_values_and_vectors<T, Device> made{zeros<T, Device>(sizes_like(of.sizes(), {rows, least})),
                                              zeros<T, Device>(sizes_like(of.sizes(), {least})),
                                              zeros<T, Device>(sizes_like(of.sizes(), {least, columns}))};
  each_matrix(of, [&](std::int64_t i, const auto& m) {
    if (!m.allFinite()) throw value_error(message(function, ": an element is infinite or not a number", which(of, i)));
    const Eigen::JacobiSVD<matrix<T>> found(m, with_vectors ? Eigen::ComputeThinU | Eigen::ComputeThinV : 0U);
    vector_at(made.s, i) = found.singularValues();
    if (!with_vectors) return;
    matrix_at(made.u, i) = found.matrixU();
    matrix_at(made.vh, i) = found.matrixV().transpose();
  });
  return made;
}
}  // namespace detail

/// Singular values and vectors, x = matmul(u * s, vh): torch.linalg.svd with full_matrices=False. s has a first
/// derivative; that of u and vh, which are not determined in sign, throws graph_error. Throws shape_error; value_error
/// for elements that are not finite.
template <Expression X>
auto svd(const X& x) {
  const auto of = detail::stack_of(x, "linalg::svd");
  using T = typename decltype(of)::value_type;
  using Device = typename decltype(of)::device_type;
  const auto plain = detail::singular(of, true, "linalg::svd");
  const auto none = [](const auto& g, const auto&...) -> Tensor<T, Device> {
    if (g.dim() >= 0)
      throw graph_error(
          "backward: linalg::svd has no gradient through u and vh: detach() them, or use eigh(matmul(transpose(x), "
          "x))");
    return g;
  };
  return singular_values_and_vectors<T, Device>{
      with_gradient("linalg::svd", plain.u, std::tie(of), none),
      with_gradient("linalg::svd", plain.s, std::tie(of), std::tie(plain.u, plain.vh),
                    [](const auto& g, const auto& u, const auto& vh) {
                      if (grad_enabled())
                        throw graph_error(
                            "create_graph: linalg::svd has no second derivative: call backward() without "
                            "create_graph, or use eigvalsh(matmul(transpose(x), x))");
                      return matmul(Tensor<T, Device>(u * unsqueeze(g, -2)), vh);
                    }),
      with_gradient("linalg::svd", plain.vh, std::tie(of), none)};
}

/// The singular values alone, falling: torch.linalg.svdvals.
template <Expression X>
auto svdvals(const X& x) {
  const auto of = detail::stack_of(x, "linalg::svdvals");
  if (of.needs_grad() && grad_enabled()) return svd(of).s;  // which needs the vectors
  return detail::singular(of, false, "linalg::svdvals").s;
}

namespace detail {
/// The size from which singular values count: the largest times rtol, or times what rounding makes of a matrix.
template <class T>
T least_that_counts(T largest, std::int64_t rows, std::int64_t columns, double rtol) {
  const double relative =
      rtol >= 0 ? rtol
                : static_cast<double>(std::max(rows, columns)) * static_cast<double>(std::numeric_limits<T>::epsilon());
  return static_cast<T>(static_cast<double>(largest) * relative);
}
}  // namespace detail

/// How many singular values of each matrix are greater than rtol times the largest: torch.linalg.matrix_rank. Without
/// rtol, more than the type's epsilon times the longer side.
template <Expression X>
auto matrix_rank(const X& x, double rtol = -1) {
  const auto of = detail::stack_of(x, "linalg::matrix_rank");
  using T = typename decltype(of)::value_type;
  using Device = typename decltype(of)::device_type;
  const Tensor<T, Device> s = detail::singular(of, false, "linalg::matrix_rank").s;
  auto rank = zeros<std::int64_t, Device>(detail::sizes_like(of.sizes(), {}));
  detail::each_matrix(of, [&](std::int64_t i, const auto&) {
    const T* const values = s.data() + i * s.size(-1);
    const T least = detail::least_that_counts(values[0], of.size(-2), of.size(-1), rtol);
    rank.data()[i] = std::count_if(values, values + s.size(-1), [&](T v) { return v > least; });
  });
  return rank;
}

/// The Moore-Penrose inverse of each matrix, of the singular values that matrix_rank counts: torch.linalg.pinv. Has no
/// gradient: throws graph_error where one would be recorded.
template <Expression X>
auto pinv(const X& x, double rtol = -1) {
  const auto of = detail::stack_of(x, "linalg::pinv");
  using T = typename decltype(of)::value_type;
  using Device = typename decltype(of)::device_type;
  if (of.needs_grad() && grad_enabled())
    throw graph_error("linalg::pinv has no gradient: detach() the tensor, or solve equations by lstsq, which has one");
  auto [u, s, vh] = detail::singular(of, true, "linalg::pinv");
  for (std::int64_t i = 0, k = s.dim() > 0 ? s.size(-1) : 0; k > 0 && i < s.numel(); i += k) {
    T* const values = s.data() + i;
    const T least = detail::least_that_counts(values[0], of.size(-2), of.size(-1), rtol);
    std::transform(values, values + k, values, [&](T v) { return v > least ? 1 / v : T(0); });
  }
  const Tensor<T, Device> scaled = detail::turned(vh) * unsqueeze(s, -2);
  return Tensor<T, Device>(matmul(scaled, detail::turned(u)));
}

}  // namespace kiln::linalg
