// SPDX-License-Identifier: BSL-1.0
// The definitions of decompositions.hpp: in double by Eigen, of one matrix or a stack of them. Where Eigen is not there
// when the library is compiled, nothing is offered.
#pragma once

#include <kiln/k/arguments.hpp>
#include <kiln/k/decompositions.hpp>

#if __has_include(<Eigen/Dense>)

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Dense>

#include <kiln/dynamic/custom.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/linalg/householder.hpp>
#include <kiln/linalg/substitution.hpp>

namespace kiln::k::decompositions {

using matrix = Eigen::MatrixXd;
using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The matrices of a tensor, whose last two axes they are.
struct matrices {
  std::vector<matrix> all;
  longs batch;  // the axes before
  dtype type = dtype::float64;
};

inline matrices matrices_of(const tensor& x, bool finite = false) {
  if (x.dim() < 2) throw shape_error(message("expects a matrix or a stack of them, given sizes ", x.sizes()));
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  if (x.numel() == 0) throw shape_error(message("a tensor of sizes ", x.sizes(), " has no elements"));
  matrices found;
  found.type = is_floating(x.type()) ? x.type() : session().default_type;
  found.batch.assign(x.sizes().begin(), x.sizes().end() - 2);
  const tensor wide = x.detach().to(dtype::float64);
  const auto* at = static_cast<const double*>(wide.data());
  for (std::int64_t i = 0; i < x.numel(); i += rows * columns)
    found.all.emplace_back(Eigen::Map<const row_major>(at + i, rows, columns));
  if (finite)
    for (const matrix& each : found.all)
      if (!each.allFinite()) throw value_error("an element is infinite or not a number");
  return found;
}
inline matrices squares_of(const tensor& x, bool finite = false) {
  matrices found = matrices_of(x, finite);
  if (x.size(-2) != x.size(-1)) throw shape_error(message("expects square matrices, given sizes ", x.sizes()));
  return found;
}

/// Results of the matrices of a tensor as one tensor: matrices, columns as vectors, or numbers.
enum class shown { matrices, vectors, numbers };
inline tensor joined(const std::vector<matrix>& results, const matrices& of, shown as, dtype type) {
  longs sizes = of.batch;
  const matrix& first = results.at(0);
  if (as != shown::numbers) sizes.push_back(first.rows());
  if (as == shown::matrices) sizes.push_back(first.cols());
  const tensor made = written(dtype::float64, dims(sizes), [&](void* to) {
    auto* at = static_cast<double*>(to);
    for (const matrix& each : results) {
      Eigen::Map<row_major>(at, each.rows(), each.cols()) = each;
      at += each.size();
    }
  });
  return made.to(type).eval();
}
inline tensor joined(const std::vector<matrix>& results, const matrices& of, shown as = shown::matrices) {
  return joined(results, of, as, of.type);
}
template <class F>
std::vector<matrix> each(const matrices& of, F f) {
  std::vector<matrix> results;
  for (const matrix& m : of.all) results.emplace_back(f(m));
  return results;
}
inline matrix one(double value) {
  return matrix::Constant(1, 1, value);
}

/// For what has no derivative here.
inline void no_gradient(std::string_view name, const tensor& x) {
  if (grad_enabled() && x.requires_grad())
    throw graph_error(message(name, ": kiln has no gradient of it: detach the tensor first"));
}
inline tensor turned(const tensor& x) {
  return dynamic::transpose(x, -2, -1);
}

inline Eigen::PartialPivLU<matrix> regular(const matrix& m) {
  Eigen::PartialPivLU<matrix> lu(m);
  if ((lu.matrixLU().diagonal().array() == 0).any()) throw value_error("the matrix is singular");
  return lu;
}
inline matrix inverse_of(const matrix& m) {
  return linalg::detail::solved(regular(m), matrix::Identity(m.rows(), m.cols()));
}
inline tensor inverse_of(const tensor& x) {
  const matrices of = squares_of(x);
  return joined(each(of, [](const matrix& m) { return inverse_of(m); }), of);
}

/// inverse: gradient -Y' G Y' (Y the inverse, ' transposed).
inline tensor inverse(const tensor& x) {
  const tensor y = inverse_of(x);
  return dynamic::with_gradient("inverse", y, {x}, [y](const tensor& g) -> std::vector<tensor> {
    return {dynamic::call("neg", {dynamic::matmul(turned(y), dynamic::matmul(g, turned(y)))})};
  });
}

/// det and logdet: gradient g det X^-T, or g X^-T. logdet of a negative determinant is not a number.
inline tensor determinant(const tensor& x, bool logarithm) {
  const matrices of = squares_of(x);
  const tensor y =
      joined(each(of,
                  [&](const matrix& m) {
                    const Eigen::PartialPivLU<matrix> lu(m);
                    if (!logarithm) return one(linalg::detail::determinant(lu));
                    double sum = 0, sign = static_cast<double>(lu.permutationP().determinant());
                    for (Eigen::Index i = 0; i < m.rows(); ++i) {
                      sum += std::log(std::abs(lu.matrixLU()(i, i)));
                      if (lu.matrixLU()(i, i) < 0) sign = -sign;
                    }
                    return one(sign > 0 || std::isinf(sum) ? sum : std::numeric_limits<double>::quiet_NaN());
                  }),
             of, shown::numbers);
  const tensor plain = x.detach();
  return dynamic::with_gradient("determinant", y, {x},
                                [y, plain, logarithm](const tensor& g) -> std::vector<tensor> {
                                  const tensor scale = logarithm ? g : dynamic::call("mul", {g, y});
                                  return {dynamic::call("mul", {dynamic::unsqueeze(dynamic::unsqueeze(scale, -1), -1),
                                                                turned(inverse_of(plain))})};
                                },
                                {plain});
}

/// x with a x = b, for b a matrix or, where `a` is one matrix, a vector: gradients A^-T G and -(A^-T G) X'.
inline tensor solved(const tensor& a, const tensor& b) {
  const bool vector = b.dim() == 1 && a.dim() == 2;
  const tensor right = vector ? dynamic::unsqueeze(b, 1) : b;
  const matrices of = squares_of(a), with = matrices_of(right);
  if (of.batch != with.batch || right.size(-2) != a.size(-1))
    throw shape_error(message("sizes ", a.sizes(), " and ", b.sizes(), " are no equations"));
  std::vector<matrix> results;
  for (std::size_t i = 0; i < of.all.size(); ++i)
    results.push_back(linalg::detail::solved(regular(of.all[i]), with.all[i]));
  const tensor y = joined(results, with);
  const tensor shown_as = vector ? dynamic::squeeze(y, 1).clone().eval() : y;
  const tensor plain = a.detach();
  return dynamic::with_gradient(
      "solve", shown_as, {a, b},
      [y, plain, vector](const tensor& g) -> std::vector<tensor> {
        const tensor gradient = vector ? dynamic::unsqueeze(g, 1) : g;
        const tensor of_b = solved(turned(plain), gradient);
        return {dynamic::call("neg", {dynamic::matmul(of_b, turned(y))}), vector ? dynamic::squeeze(of_b, 1) : of_b};
      },
      {plain});
}

KILN_INLINE tensor singular_values(const tensor& x) {
  no_gradient("singular values", x);
  const matrices of = matrices_of(x, true);
  return joined(each(of, [](const matrix& m) -> matrix { return Eigen::JacobiSVD<matrix>(m, 0u).singularValues(); }),
                of, shown::vectors);
}

inline object plain(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const operand a = given.operand_at(0);
  if (name == "inverse") return respond(inverse(a.value), a.handle);
  if (name == "svdvals") return respond(singular_values(a.value), a.handle);
  if (name == "det" || name == "logdet") return respond(determinant(a.value, name == "logdet"), a.handle);
  no_gradient(name, a.value);
  const bool square = name == "slogdet" || name == "eigh" || name == "eigvalsh";
  const matrices of = square ? squares_of(a.value, true) : matrices_of(a.value, true);
  if (name == "slogdet") {
    std::vector<matrix> signs, logs;
    for (const matrix& m : of.all) {
      const Eigen::PartialPivLU<matrix> lu(m);
      double sum = 0, sign = static_cast<double>(lu.permutationP().determinant());
      for (Eigen::Index i = 0; i < m.rows(); ++i) {
        const double d = lu.matrixLU()(i, i);
        sum += std::log(std::abs(d));
        sign *= d > 0 ? 1 : d < 0 ? -1 : 0;
      }
      signs.push_back(one(sign));
      logs.push_back(one(sum));
    }
    return respond({joined(signs, of, shown::numbers), joined(logs, of, shown::numbers)}, a.handle);
  }
  if (name == "eigh" || name == "eigvalsh") {
    std::vector<matrix> values, vectors;
    for (const matrix& m : of.all) {
      const Eigen::SelfAdjointEigenSolver<matrix> solver(m);  // reads the lower triangle
      if (solver.info() != Eigen::Success) throw value_error("the eigenvalues do not converge");
      values.emplace_back(solver.eigenvalues());
      vectors.emplace_back(solver.eigenvectors());
    }
    if (name == "eigvalsh") return respond(joined(values, of, shown::vectors), a.handle);
    return respond({joined(values, of, shown::vectors), joined(vectors, of)}, a.handle);
  }
  if (name == "qr") {
    std::vector<matrix> q, r;
    for (const matrix& m : of.all) {
      auto [columns, triangle] = linalg::detail::orthogonal_triangular<matrix>(m);
      q.push_back(std::move(columns));
      r.push_back(std::move(triangle));
    }
    return respond({joined(q, of), joined(r, of)}, a.handle);
  }
  if (name == "lu" || name == "lun") {
    std::vector<matrix> factors, pivots, p, l, u;
    for (const matrix& m : of.all) {
      if (m.rows() != m.cols()) throw shape_error(message("expects square matrices, given sizes ", a.value.sizes()));
      const Eigen::PartialPivLU<matrix> lu(m);
      const matrix both = lu.matrixLU();
      factors.push_back(both);
      // Which row each was exchanged with, counted from 1, as LAPACK tells it.
      Eigen::VectorXi at = Eigen::VectorXi::LinSpaced(static_cast<int>(m.rows()), 0, static_cast<int>(m.rows()) - 1);
      matrix exchanged(m.rows(), 1);
      const Eigen::VectorXi target = lu.permutationP().indices();
      Eigen::VectorXi source(m.rows());
      for (Eigen::Index i = 0; i < m.rows(); ++i) source(target(i)) = static_cast<int>(i);
      for (Eigen::Index i = 0; i < m.rows(); ++i) {
        Eigen::Index k = i;
        while (at(k) != source(i)) ++k;
        std::swap(at(i), at(k));
        exchanged(i, 0) = static_cast<double>(k + 1);
      }
      pivots.push_back(exchanged);
      p.emplace_back(lu.permutationP().inverse().toDenseMatrix().cast<double>());
      l.emplace_back(both.triangularView<Eigen::UnitLower>());
      u.emplace_back(both.triangularView<Eigen::Upper>());
    }
    if (name == "lu") return respond({joined(factors, of), joined(pivots, of, shown::vectors, dtype::int32)}, a.handle);
    return respond({joined(p, of), joined(l, of), joined(u, of)}, a.handle);
  }
  // svd, nnorm, mrank, pinverse
  std::vector<matrix> u, s, v, other;
  for (const matrix& m : of.all) {
    const bool vectors = name == "svd" || name == "pinverse";
    const Eigen::JacobiSVD<matrix> svd(m, vectors ? Eigen::ComputeThinU | Eigen::ComputeThinV : 0);
    const Eigen::VectorXd values = svd.singularValues();
    const double least = values(0) * static_cast<double>(std::max(m.rows(), m.cols())) *
                         (of.type == dtype::float64 ? std::numeric_limits<double>::epsilon()
                                                    : static_cast<double>(std::numeric_limits<float>::epsilon()));
    s.emplace_back(values);
    if (name == "nnorm") other.push_back(one(values.sum()));
    if (name == "mrank") other.push_back(one(static_cast<double>((values.array() > least).count())));
    if (!vectors) continue;
    u.emplace_back(svd.matrixU());
    v.emplace_back(svd.matrixV().transpose());
    if (name == "pinverse") {
      const double limit = values(0) * 1e-15;
      const Eigen::VectorXd turned_values =
          (values.array() > limit).select(values.array().inverse(), Eigen::ArrayXd::Zero(values.size())).matrix();
      other.emplace_back(svd.matrixV() * turned_values.asDiagonal() * svd.matrixU().transpose());
    }
  }
  if (name == "nnorm") return respond(joined(other, of, shown::numbers), a.handle);
  if (name == "mrank") return respond(joined(other, of, shown::numbers, dtype::int64), a.handle);
  if (name == "pinverse") return respond(joined(other, of), a.handle);
  return respond({joined(u, of), joined(s, of, shown::vectors), joined(v, of)}, a.handle);
}

/// chol, cholx and cholinverse: (x[;upper]).
inline object cholesky(std::string_view name, object x) {
  arguments given(name, x, 1, 2, flag_trailing);
  const bool upper = given.take_flag().value_or(false);
  given.none_left(1);
  const operand a = given.operand_at(0);
  no_gradient(name, a.value);
  const matrices of = squares_of(a.value, true);
  std::vector<matrix> factors, infos;
  for (const matrix& m : of.all) {
    if (name == "cholinverse") {
      const matrix l =
          upper ? matrix(m.transpose().triangularView<Eigen::Lower>()) : matrix(m.triangularView<Eigen::Lower>());
      factors.push_back(inverse_of(matrix(l * l.transpose())));
      continue;
    }
    const Eigen::LLT<matrix> llt(m);
    const bool good = llt.info() == Eigen::Success;
    if (!good && name == "chol") throw value_error("the matrix is not positive definite");
    const matrix l = llt.matrixL();
    factors.emplace_back(upper ? matrix(l.transpose()) : l);
    infos.push_back(one(good ? 0 : 1));
  }
  if (name != "cholx") return respond(joined(factors, of), a.handle);
  return respond({joined(factors, of), joined(infos, of, shown::numbers, dtype::int32)}, a.handle);
}

/// solve and lstsq (a;b), trisolve (b;a[;upper]), cholsolve (b;factor[;upper]), lusolve (b;lu;pivots).
inline object solve(std::string_view name, object x) {
  arguments given(name, x, 2, 3);
  if (name == "lusolve" && given.size() != 3) throw value_error("expects b, LU factors and pivots");
  const bool upper = given.take_flag().value_or(name == "trisolve");
  if (name != "lusolve") given.none_left(2);
  const operand first = given.operand_at(0), second = given.operand_at(1);
  const bool handle = first.handle || second.handle;
  if (name == "solve") return respond(solved(first.value, second.value), handle);
  no_gradient(name, first.value);
  no_gradient(name, second.value);
  const bool turned_around = name == "lstsq";  // a comes first there
  const matrices b = matrices_of(turned_around ? second.value : first.value, true),
                 a = matrices_of(turned_around ? first.value : second.value, true);
  if (a.batch != b.batch) throw shape_error("the two stacks are not of one size");
  std::vector<matrix> results;
  for (std::size_t i = 0; i < a.all.size(); ++i) {
    const matrix &m = a.all[i], &right = b.all[i];
    if (m.rows() != right.rows() || (!turned_around && m.rows() != m.cols()))
      throw shape_error(message("sizes ", first.value.sizes(), " and ", second.value.sizes(), " are no equations"));
    if (turned_around) {
      // Of a size whose squares neither underflow nor overflow.
      const int scale = linalg::detail::exponent_of(m.cwiseAbs().maxCoeff());
      matrix near_one = m;
      linalg::detail::scale_by(near_one, -scale);
      results.emplace_back(near_one.completeOrthogonalDecomposition().solve(right));
      linalg::detail::scale_by(results.back(), -scale);
    } else if (name == "lusolve") {
      const tensor where = given.operand_at(2).value.to(dtype::int64).eval();
      if (where.numel() != static_cast<std::int64_t>(a.all.size()) * m.rows())
        throw shape_error(message("pivots of sizes ", where.sizes()));
      matrix rows = right;
      const auto* pivot = static_cast<const std::int64_t*>(where.data()) + static_cast<std::int64_t>(i) * m.rows();
      for (Eigen::Index r = 0; r < m.rows(); ++r) {
        if (pivot[r] < 1 || pivot[r] > m.rows()) throw index_error(message("pivot ", pivot[r], " of ", m.rows()));
        rows.row(r).swap(rows.row(pivot[r] - 1));
      }
      linalg::detail::substitute<Eigen::UnitLower>(m, rows);
      linalg::detail::substitute<Eigen::Upper>(m, rows);
      results.push_back(rows);
    } else if (name == "cholsolve") {
      const matrix l =
          upper ? matrix(m.transpose().triangularView<Eigen::Lower>()) : matrix(m.triangularView<Eigen::Lower>());
      matrix rows = right;
      linalg::detail::substitute<Eigen::Lower>(l, rows);
      linalg::detail::substitute<Eigen::Upper>(matrix(l.transpose()), rows);
      results.push_back(std::move(rows));
    } else {
      matrix rows = right;
      upper ? linalg::detail::substitute<Eigen::Upper>(m, rows) : linalg::detail::substitute<Eigen::Lower>(m, rows);
      results.push_back(std::move(rows));
    }
  }
  return respond(joined(results, b), handle);
}

/// (x;tau): the first columns of the product of the reflections 1 - tau_i v_i v_i', of which v_i are the columns of x
/// below its diagonal with a 1 on it: the q of what LAPACK's geqrf gives.
inline object householder(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand a = given.operand_at(0), factors = given.operand_at(1);
  no_gradient(name, a.value);
  no_gradient(name, factors.value);
  const matrices of = matrices_of(a.value, true);
  const tensor tau = factors.value.to(dtype::float64).contiguous();
  longs sizes = of.batch;
  const std::int64_t count = tau.dim() > 0 ? tau.size(-1) : 0, rows = a.value.size(-2), columns = a.value.size(-1);
  sizes.push_back(count);
  if (dims(sizes) != tau.sizes() || count > columns || columns > rows)
    throw shape_error(message("sizes ", a.value.sizes(), " and ", tau.sizes(),
                              ": expects no more factors than columns, and no more columns than rows"));
  const auto* at = static_cast<const double*>(tau.data());
  std::vector<matrix> results;
  for (const matrix& m : of.all) {
    matrix q = matrix::Identity(rows, columns);
    for (Eigen::Index i = count; i-- > 0;) {
      Eigen::VectorXd v = m.col(i);
      v.head(i).setZero();
      v(i) = 1;
      q -= at[i] * v * (v.transpose() * q);
    }
    at += count;
    results.push_back(q);
  }
  return respond(joined(results, of), a.handle || factors.handle);
}

/// (x;n): x times itself, n below 0 of the inverse.
inline object power(std::string_view name, object x) {
  const arguments given(name, x, 2, 2);
  const operand a = given.operand_at(0);
  std::int64_t n = given.long_at(1);
  if (a.value.dim() < 2 || a.value.size(-1) != a.value.size(-2))
    throw shape_error(message("expects square matrices, given sizes ", a.value.sizes()));
  if (n < -1000000 || n > 1000000) throw value_error(message("a power of ", n));
  tensor base = n < 0 ? inverse(a.value) : a.value;
  if (!is_floating(base.type())) base = base.to(session().default_type);
  tensor result;
  for (n = std::abs(n); n > 0; n /= 2) {
    if (n % 2) result = result.defined() ? dynamic::matmul(result, base) : base;
    if (n > 1) base = dynamic::matmul(base, base);
  }
  if (!result.defined()) {
    const matrices of = squares_of(a.value);
    result = joined(each(of, [](const matrix& m) -> matrix { return matrix::Identity(m.rows(), m.cols()); }), of);
  }
  return respond(std::move(result), a.handle);
}

}  // namespace kiln::k::decompositions

namespace kiln::k {

KILN_INLINE void offer_decompositions(registry& r) {
  for (std::string_view name : {"inverse", "det", "logdet", "slogdet", "eigh", "eigvalsh", "qr", "lu", "lun", "svd",
                                "svdvals", "nnorm", "mrank", "pinverse"})
    r.offer(name, decompositions::plain);
  for (std::string_view name : {"chol", "cholx", "cholinverse"}) r.offer(name, decompositions::cholesky);
  for (std::string_view name : {"solve", "lstsq", "trisolve", "cholsolve", "lusolve"})
    r.offer(name, decompositions::solve);
  r.offer("power", decompositions::power);
  r.offer("householder", decompositions::householder);
}

}  // namespace kiln::k

#else

namespace kiln::k {
KILN_INLINE tensor decompositions::singular_values(const tensor&) {
  throw value_error("singular values need Eigen: install it, and compile the library again");
}
KILN_INLINE void offer_decompositions(registry&) {}
}  // namespace kiln::k

#endif
