// SPDX-License-Identifier: BSL-1.0
// Elements by truth values: masked_fill, masked_select, nonzero.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {
template <Expression M>
void check_mask_type() {
  static_assert(std::is_same_v<typename M::value_type, bool>,
                "kiln: a mask holds bool: write a comparison, x > 0, or cast<bool>(...)");
}
}  // namespace detail

/// x with `value` where the mask, which broadcasts, is true: torch.masked_fill. Lazy; gradients reach the other
/// elements. `masked_fill(scores, mask, -1e9f)`. Throws value_error for a number that an integer type does not hold,
/// shape_error where the mask does not broadcast. To fill in place, write `x.copy_(masked_fill(x, mask, value))`.
template <Expression X, Expression M, class V>
  requires Operands<X, V>
auto masked_fill(const X& x, const M& mask, V value) {
  detail::check_mask_type<M>();
  dims sizes = shape_of(x);
  broadcast_into(sizes, shape_of(mask), "masked_fill");
  return where(mask, detail::written_as<typename X::value_type>(std::move(value), "masked_fill"), x);
}

/// The positions of the elements that are not 0, one row of indices for each, in row-major order: torch.nonzero.
/// `nonzero(Tensor<int>{0, 5, 7})` is [[1], [2]]. Of another device, its values are looked at on the host.
template <Expression X>
Tensor<std::int64_t, typename X::device_type> nonzero(const X& x) {
  static_assert(!detail::any_transformed<X>,
                "kiln: nonzero has no meaning within vmap and jvp, where members would have different numbers of rows: "
                "call it before, or multiply by x != 0");
  const auto device = detail::device_of(x);
  const auto found = detach(cast<bool>(detail::untracked(x))).to(Cpu{});
  const Tensor<bool> truth = found.contiguous_layout() ? found : found.clone();
  const bool* at = truth.data();
  const std::int64_t elements = truth.numel();
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < elements; ++i) rows += at[i];
  const dims sizes = truth.sizes();
  auto result = empty<std::int64_t>({rows, sizes.rank()});
  std::int64_t* to = result.data();
  for (std::int64_t i = 0; i < elements; ++i) {
    if (!at[i]) continue;
    std::int64_t rest = i;
    for (int axis = sizes.rank() - 1; axis >= 0; --axis) {
      to[axis] = rest % sizes[axis];
      rest /= sizes[axis];
    }
    to += sizes.rank();
  }
  return result.to(device);
}

/// The elements of x where the mask is true, as a 1-D tensor in row-major order; the two broadcast:
/// torch.masked_select. `masked_select(x, x > 0)`. Gradients flow to the elements chosen; x[mask]
/// takes a mask of the first axes too. Throws shape_error where they do not broadcast.
template <Expression X, Expression M>
auto masked_select(const X& x, const M& mask) {
  detail::check_mask_type<M>();
  dims sizes = shape_of(x);
  broadcast_into(sizes, shape_of(mask), "masked_select");
  const auto chosen = nonzero(flatten(expand(detail::untracked(mask), sizes)));
  return detail::as_tensor(index_select(flatten(expand(x, sizes)), 0, flatten(chosen)));
}

// ---- as members ----------------------------------------------------------------------------------------------------

template <class X>
template <class M, class V>
auto common_methods<X>::masked_fill(const M& mask, const V& value) const {
  return kiln::masked_fill(self(), mask, value);
}

}  // namespace kiln
