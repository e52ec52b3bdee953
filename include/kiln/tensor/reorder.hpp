// SPDX-License-Identifier: BSL-1.0
// The same elements in another order along axes: flip, roll. New tensors, as PyTorch's.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {
/// By how many places each axis moves, within its size. Throws value_error, index_error.
inline dims places_to_roll(const dims& sizes, const dims& shifts, const dims& axes) {
  if (shifts.rank() != axes.rank())
    throw value_error(message("roll: shifts ", shifts, " along axes ", axes, ": give one shift per axis"));
  dims by = dims::filled(sizes.rank(), 0);
  for (int i = 0; i < axes.rank(); ++i) {
    const int axis = normalize_axis(axes[i], sizes.rank(), "roll");
    if (sizes.rank() == 0 || holds_nothing(sizes)) continue;
    const std::int64_t n = sizes[axis];
    by[axis] = (by[axis] + shifts[i] % n + n) % n;
  }
  return by;
}
}  // namespace detail

/// The elements in the opposite order along axes: one, a list, or none for all. `flip(x, 1)`: torch.flip, numpy.flip. A
/// copy, in one kernel. Throws index_error, value_error for an axis named twice.
template <Expression X>
auto flip(const X& x, const axes& over = {}) {
  const std::uint32_t mask = over.mask(shape_of(x).rank(), "flip");
  return detail::view_through(x, [mask](const detail::layout& l) { return detail::flipped(l, mask); }).clone();
}

/// The elements moved along axes, by as many places each, what leaves one end coming in at the other: torch.roll.
/// `roll(x, {1, -2}, {0, 1})` moves rows down by one and columns to the left by two. A copy. Throws value_error unless
/// there are as many shifts as axes, index_error.
template <Expression X>
auto roll(const X& x, const dims& shifts, const dims& axes) {
  if constexpr (detail::any_transformed<X>) {
    static_assert(detail::never<X>,
                  "kiln: roll has no meaning within vmap and jvp yet: roll what goes in or what comes out");
    return x;
  } else {
    using result = Tensor<typename X::value_type, typename X::device_type>;
    result rolled = detail::as_tensor(x);
    const dims by = detail::places_to_roll(rolled.sizes(), shifts, axes);
    bool copied = false;
    for (int axis = 0; axis < by.rank(); ++axis) {
      const std::int64_t stay = rolled.sizes()[axis] - by[axis];
      if (by[axis] == 0) continue;
      rolled = cat(std::vector<result>{narrow(rolled, axis, stay, by[axis]), narrow(rolled, axis, 0, stay)}, axis);
      copied = true;
    }
    return copied ? rolled : rolled.clone();
  }
}
/// The same along one axis: `roll(x, 1, 0)`.
template <Expression X, detail::SizeLike Shift, detail::SizeLike Axis>
auto roll(const X& x, Shift shift, Axis axis) {
  return roll(x, dims{shift}, dims{axis});
}
/// The same in the row-major order of all elements.
template <Expression X, detail::SizeLike Shift>
auto roll(const X& x, Shift shift) {
  return reshape(roll(flatten(x), dims{shift}, dims{0}), shape_of(x));
}

// ---- as members ----------------------------------------------------------------------------------------------------

template <class X>
auto common_methods<X>::flip() const {
  return kiln::flip(self());
}
template <class X>
auto common_methods<X>::flip(const axes& over) const {
  return kiln::flip(self(), over);
}
template <class X>
auto common_methods<X>::roll(std::int64_t shift) const {
  return kiln::roll(self(), shift);
}
template <class X>
auto common_methods<X>::roll(std::int64_t shift, std::int64_t axis) const {
  return kiln::roll(self(), shift, axis);
}
template <class X>
auto common_methods<X>::roll(const dims& shifts, const dims& axes) const {
  return kiln::roll(self(), shifts, axes);
}

}  // namespace kiln
