// SPDX-License-Identifier: BSL-1.0
// By LU decompositions with partial pivots: equations, inverses, determinants. Gradients are those of M. Giles,
// "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008; they are made
// of the same functions and differentiated like all others.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <Eigen/LU>

#include <kiln/linalg/matrices.hpp>
#include <kiln/linalg/substitution.hpp>

namespace kiln::linalg {

namespace detail {

template <class T, class Device>
Eigen::PartialPivLU<matrix<T>> regular(const matrix_map<T>& m, const Tensor<T, Device>& of, std::int64_t i,
                                       const char* function) {
  Eigen::PartialPivLU<matrix<T>> lu(m);
  for (Eigen::Index k = 0; k < m.rows(); ++k)
    if (lu.matrixLU()(k, k) == T(0))
      throw value_error(message(function, ": the matrix is singular", which(of, i), ": pivot ", k,
                                " is 0; linalg::pinv has what comes nearest to an inverse"));
  return lu;
}

/// Sizes of a and b whose axes before the last two are broadcast against each other.
inline void broadcast_stacks(dims& a, dims& b, const char* function) {
  dims batch = sizes_like(a, {});
  broadcast_into(batch, sizes_like(b, {}), function);
  dims whole_a = batch, whole_b = batch;
  for (const int back : {2, 1}) {
    whole_a.push_back(a[a.rank() - back]);
    whole_b.push_back(b[b.rank() - back]);
  }
  a = whole_a;
  b = whole_b;
}

/// f(a, b) of equations with matrices on the right: a vector goes through it as one column.
template <Expression A, Expression B, class F>
auto with_columns(const A& a, const B& b, const char* function, F f) {
  const auto left = matrices_in(a);
  using made = std::remove_const_t<decltype(left)>;
  constexpr bool one_type = std::same_as<made, std::remove_cvref_t<decltype(matrices_in(b))>>;
  static_assert(one_type, "kiln: the two sides of equations have one element type: cast<T>() one of them");
  const made right = [&] {
    if constexpr (one_type)
      return matrices_in(b);
    else
      return left;
  }();
  if (left.dim() < 2 || right.dim() < 1)
    throw shape_error(message(function, ": shapes ", left.sizes(), " and ", right.sizes(),
                              ": the first holds matrices, the second columns or a vector for each"));
  dims vectors = left.sizes();
  vectors.erase(vectors.rank() - 1);
  const bool one_column = right.dim() == 1 || right.sizes() == vectors;
  const auto columns = one_column ? unsqueeze(right, -1) : right;
  dims sizes_a = left.sizes(), sizes_b = columns.sizes();
  if (sizes_a[sizes_a.rank() - 2] != sizes_b[sizes_b.rank() - 2])
    throw shape_error(message(function, ": shapes ", left.sizes(), " and ", right.sizes(), ": ",
                              sizes_a[sizes_a.rank() - 2], " equations have ", sizes_b[sizes_b.rank() - 2],
                              " right sides"));
  broadcast_stacks(sizes_a, sizes_b, function);
  const auto y = f(expand(left, sizes_a).contiguous(), expand(columns, sizes_b).contiguous());
  return one_column ? y.squeeze(-1) : y;
}

template <class T, class Device>
Tensor<T, Device> solve_columns(const Tensor<T, Device>& a, const Tensor<T, Device>& b) {
  if (a.size(-1) != a.size(-2))
    throw shape_error(message("linalg::solve: shape ", a.sizes(),
                              " has matrices that are not square: lstsq solves as nearly as can be"));
  auto y = zeros<T, Device>(b.sizes());
  each_matrix(b, [&](std::int64_t i, const auto& columns) {
    matrix_at(y, i) = solved(regular(matrix_at(a, i), a, i, "linalg::solve"), columns);
  });
  return with_gradient("linalg::solve", y, std::tie(a, b), std::tie(a, y),
                       [](const auto& g, const auto& m, const auto& x) {
                         const Tensor<T, Device> of_b = solve_columns(Tensor<T, Device>(turned(m).contiguous()), g);
                         return std::tuple(-matmul(of_b, turned(x)), of_b);
                       });
}

}  // namespace detail

/// x with matmul(a, x) = b, of square matrices a: torch.linalg.solve. b holds a matrix for each of a, or a vector where
/// it has one axis or the shape of a without its last axis; axes before are broadcast. Throws shape_error; value_error
/// for a singular matrix.
template <Expression A, Expression B>
auto solve(const A& a, const B& b) {
  return detail::with_columns(a, b, "linalg::solve",
                              [](const auto& m, const auto& columns) { return detail::solve_columns(m, columns); });
}

/// The inverse of each matrix: torch.linalg.inv. To solve equations, solve is quicker and nearer. Throws shape_error;
/// value_error for a singular matrix.
template <Expression X>
auto inv(const X& x) {
  const auto of = detail::squares_of(x, "linalg::inv");
  using made = std::remove_const_t<decltype(of)>;
  made y = zeros<typename made::value_type, typename made::device_type>(of.sizes());
  detail::each_matrix(of, [&](std::int64_t i, const auto& m) {
    const auto lu = detail::regular(m, of, i, "linalg::inv");
    detail::matrix_at(y, i) =
        detail::solved(lu, detail::matrix<typename made::value_type>::Identity(m.rows(), m.cols()));
  });
  return with_gradient("linalg::inv", y, std::tie(of), std::tie(y), [](const auto& g, const auto& inverse) {
    return -matmul(matmul(detail::turned(inverse), g), detail::turned(inverse));
  });
}

/// The determinant of each matrix: torch.linalg.det. Its gradient throws value_error for a singular matrix. Throws
/// shape_error.
template <Expression X>
auto det(const X& x) {
  const auto of = detail::squares_of(x, "linalg::det");
  using T = typename decltype(of)::value_type;
  auto y = ones<T, typename decltype(of)::device_type>(detail::sizes_like(of.sizes(), {}));
  detail::each_matrix(of, [&](std::int64_t i, const auto& m) {
    y.data()[i] = detail::determinant(Eigen::PartialPivLU<detail::matrix<T>>(m));
  });
  return with_gradient("linalg::det", y, std::tie(of), std::tie(of, y),
                       [](const auto& g, const auto& m, const auto& d) {
                         return unsqueeze(unsqueeze(g * d, -1), -1) * detail::turned(inv(m));
                       });
}

/// What slogdet gives: the determinant is sign * exp(logabsdet).
template <class T, class Device>
struct sign_and_logarithm {
  Tensor<T, Device> sign;       ///< 1, -1, or 0 of a singular matrix
  Tensor<T, Device> logabsdet;  ///< the natural logarithm of its absolute value
};

/// Sign and logarithm of the determinant of each matrix, where that itself is too large or small for its type:
/// torch.linalg.slogdet. Throws shape_error.
template <Expression X>
auto slogdet(const X& x) {
  const auto of = detail::squares_of(x, "linalg::slogdet");
  using T = typename decltype(of)::value_type;
  using Device = typename decltype(of)::device_type;
  auto sign = ones<T, Device>(detail::sizes_like(of.sizes(), {}));
  auto sum = zeros<T, Device>(sign.sizes());
  detail::each_matrix(of, [&](std::int64_t i, const auto& m) {
    const Eigen::PartialPivLU<detail::matrix<T>> lu(m);
    T& s = sign.data()[i] = static_cast<T>(lu.permutationP().determinant());
    for (Eigen::Index k = 0; k < m.rows(); ++k) {
      const T pivot = lu.matrixLU()(k, k);
      s *= pivot > 0 ? T(1) : pivot < 0 ? T(-1) : pivot;  // nan stays nan
      sum.data()[i] += std::log(std::abs(pivot));
    }
  });
  return sign_and_logarithm<T, Device>{
      sign, with_gradient("linalg::slogdet", sum, std::tie(of), std::tie(of), [](const auto& g, const auto& m) {
        return unsqueeze(unsqueeze(g, -1), -1) * detail::turned(inv(m));
      })};
}

/// Each matrix times itself, n of them: torch.linalg.matrix_power. Below 0 the inverse's power, at 0 the identity.
/// Throws shape_error; value_error for a singular matrix and n below 0.
template <Expression X>
auto matrix_power(const X& x, std::int64_t n) {
  const auto of = detail::squares_of(x, "linalg::matrix_power");
  using made = std::remove_const_t<decltype(of)>;
  made base = n < 0 ? made(inv(of)) : of;
  made result = expand(eye<typename made::value_type, typename made::device_type>(of.size(-1)), of.sizes());
  bool any = false;
  for (std::uint64_t rest = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); rest > 0;
       rest /= 2) {
    if (rest % 2) result = any ? made(matmul(result, base)) : base;
    any = any || rest % 2;
    if (rest > 1) base = made(matmul(base, base));
  }
  return any ? result : result.clone();
}

}  // namespace kiln::linalg
