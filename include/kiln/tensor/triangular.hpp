// SPDX-License-Identifier: BSL-1.0
// Parts of matrices by their diagonals: tril, triu, diag, diagonal. Axes before the last two are batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

/// The column of each element minus its row, for the matrices of x; lazy, of one element per row and one per column.
template <Expression X>
auto columns_minus_rows(const X& x, const char* where) {
  const dims sizes = shape_of(x);
  if (sizes.rank() < 2)
    throw shape_error(
        message(where, ": shape ", sizes, " has no matrices: give two axes at least (unsqueeze one in front?)"));
  const auto device = device_of(x);
  const auto rows = arange(std::int64_t{0}, sizes[sizes.rank() - 2], 1, device);
  return arange(std::int64_t{0}, sizes.back(), 1, device) - unsqueeze(rows, 1);
}

/// What stands beside a triangle of x: a number that does not change its element type.
template <class X>
using beside_triangle = std::conditional_t<std::is_same_v<typename X::value_type, bool>, bool, int>;

/// The diagonal of the last two axes as the last axis.
constexpr layout diagonal_of(const layout& l, std::int64_t offset) {
  const int rank = l.sizes.rank();
  if (rank < 2)
    throw shape_error(message("diagonal: shape ", l.sizes, " has no matrices: diag(x) makes one of a 1-D tensor"));
  layout result = l;
  const std::int64_t rows = l.sizes[rank - 2], columns = l.sizes[rank - 1];
  // Before anything is subtracted: no offset may overflow.
  offset = std::clamp(offset, -rows, columns);
  const std::int64_t down = std::max<std::int64_t>(-offset, 0), right = std::max<std::int64_t>(offset, 0);
  const std::int64_t length = std::max<std::int64_t>(std::min(rows - down, columns - right), 0);
  if (length > 0) result.offset += down * l.strides[rank - 2] + right * l.strides[rank - 1];
  result.sizes.erase(rank - 1);
  result.strides.erase(rank - 1);
  result.sizes[rank - 2] = length;
  result.strides[rank - 2] = l.strides[rank - 2] + l.strides[rank - 1];
  return result;
}

}  // namespace detail

/// The elements on and below a diagonal, 0 above it: torch.tril. Diagonal 0 is the main one, positive ones lie above
/// it. Lazy: `tril(ones(3, 3))` is a lower triangle of ones. Throws shape_error for fewer than two axes.
template <Expression X>
auto tril(const X& x, std::int64_t diagonal = 0) {
  return where(detail::columns_minus_rows(x, "tril") <= diagonal, x, detail::beside_triangle<X>{});
}
/// The elements on and above a diagonal, 0 below it: torch.triu. Throws shape_error for fewer than two axes.
template <Expression X>
auto triu(const X& x, std::int64_t diagonal = 0) {
  return where(detail::columns_minus_rows(x, "triu") >= diagonal, x, detail::beside_triangle<X>{});
}
/// The view of a diagonal of each matrix, which becomes the last axis: `diagonal(x)` of shape [2, 3, 3] has shape
/// [2, 3]. Positive offsets lie above the main one; beyond the matrix there is nothing. Throws shape_error for fewer
/// than two axes.
template <Expression X>
auto diagonal(const X& x, std::int64_t offset = 0) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::diagonal_of(l, offset); });
}
/// Of a matrix, the view of a diagonal; of a 1-D tensor, the square matrix that has it there, and 0 beside it:
/// torch.diag. `diag(Tensor<float>{1, 2})` is [[1, 0], [0, 2]]. Throws shape_error for other ranks or a matrix too
/// large.
template <Expression X>
auto diag(const X& x, std::int64_t offset = 0) {
  using T = typename X::value_type;
  using result = Tensor<T, typename X::device_type>;
  static_assert(!detail::any_transformed<X>,
                "kiln: diag has no meaning within vmap and jvp: diagonal(x) reads one there, and x * eye<float>(n) has "
                "x on it");
  const result values = detail::as_tensor(x);
  if (values.dim() == 2) return result(diagonal(values, offset));
  if (values.dim() != 1)
    throw shape_error(message("diag: shape ", values.sizes(),
                              " is neither a matrix nor a diagonal: use diagonal(x) for matrices along other axes"));
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (offset > most || offset < -most)
    throw shape_error(message("diag: a diagonal of offset ", offset, " makes a matrix larger than memory can hold"));
  // Padded to the matrix' size, the values stand in rows above the main diagonal, in columns below it.
  const result padded = cat({values, zeros<T>({std::abs(offset)}, values.device())});
  const result along = offset < 0 ? padded : unsqueeze(padded, 1);
  const std::int64_t n = padded.numel();
  const auto position = arange(std::int64_t{0}, n, 1, values.device());
  return result(where(position - unsqueeze(position, 1) == offset, along, 0));
}

// ---- as members ----------------------------------------------------------------------------------------------------

template <class X>
auto common_methods<X>::tril(std::int64_t diagonal) const {
  return kiln::tril(self(), diagonal);
}
template <class X>
auto common_methods<X>::triu(std::int64_t diagonal) const {
  return kiln::triu(self(), diagonal);
}
template <class X>
auto common_methods<X>::diagonal(std::int64_t offset) const {
  return kiln::diagonal(self(), offset);
}

}  // namespace kiln
