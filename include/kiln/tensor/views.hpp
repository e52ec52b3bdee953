// SPDX-License-Identifier: BSL-1.0
// Views: other sizes and strides over the same elements. Each is a change of a `layout`; the gradient of a view is
// added through the same change of the gradient of what it looks at, so no view needs a rule of its own. Applied to an
// expression, a view evaluates it first.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <kiln/tensor/gradient_target.hpp>
#include <kiln/tensor/layout.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln {

namespace detail {

/// The expression as a tensor: evaluated, unless it is one.
template <Expression X>
auto as_tensor(const X& x) {
  if constexpr (Leaf<X>)
    return x;
  else
    return Tensor<typename X::value_type, typename X::device_type>(x);
}

// Copies a tensor of T, rounding only where it is stored: half types are added to as floats.
template <Element T>
struct adding_program {
  static constexpr const auto& tape = value_tape<Tensor<T>>;
  static constexpr bool row_root = false;
  static constexpr std::array<dtype, 1> stores{compute_type(dtype_of<T>)};
};
template <Element T, class Device>
constexpr const runnable* adding_kernel() {
  if constexpr (!is_floating(dtype_of<T>))
    return nullptr;
  else if constexpr (compute_type(dtype_of<T>) == dtype_of<T>)
    return &runnable_of<value_program<Tensor<T>>, Device>;
  else
    return &runnable_of<adding_program<T>, Device>;
}

/// What takes the layout of a base to that of a view of it.
class layout_change {
 public:
  template <class F>
  explicit layout_change(const F& f)
      : object_(&f), call_([](const void* object, const layout& l) { return (*static_cast<const F*>(object))(l); }) {}
  layout operator()(const layout& l) const { return call_(object_, l); }

 private:
  const void* object_;
  layout (*call_)(const void*, const layout&);
};

/// A view of `base`; `add` adds gradients to the base's.
ref<tensor_state> make_view(const ref<tensor_state>& base, const runnable* add, const layout_change& change);

template <Expression X, class Change>
auto view_through(const X& x, const Change& change) {
  const auto base = as_tensor(x);
  return std::remove_const_t<decltype(base)>(
      make_view(base.state(), adding_kernel<typename X::value_type, typename X::device_type>(), layout_change(change)));
}

}  // namespace detail

/// The elements, in the same order, in another shape: a view where strides can express it, else a copy. One size may be
/// -1 and is worked out. Throws shape_error if the number of elements differs.
template <Expression X>
auto reshape(const X& x, const dims& sizes) {
  const auto base = detail::as_tensor(x);
  const dims wanted = detail::resolved_sizes(base.sizes(), sizes, "reshape");
  auto change = [&](const detail::layout& l) { return *detail::reshaped(l, wanted); };
  if (detail::reshaped({base.sizes(), base.strides(), 0}, wanted)) return detail::view_through(base, change);
  return detail::view_through(base.clone(), change);
}
/// As reshape, but never a copy. Throws shape_error if the strides allow no view.
template <Expression X>
auto view(const X& x, const dims& sizes) {
  const auto base = detail::as_tensor(x);
  const dims wanted = detail::resolved_sizes(base.sizes(), sizes, "view");
  return detail::view_through(base, [&](const detail::layout& l) {
    const auto changed = detail::reshaped(l, wanted);
    if (!changed)
      throw shape_error(message("view: shape ", l.sizes, " with strides ", l.strides, " cannot be seen as ", wanted,
                                " without a copy: use reshape, which copies where it must"));
    return *changed;
  });
}
/// Axes begin to end (both included) as one; of a 0-d tensor, one element. Throws index_error, value_error.
template <Expression X>
auto flatten(const X& x, std::int64_t begin = 0, std::int64_t end = -1) {
  const auto base = detail::as_tensor(x);
  return reshape(base, detail::flattened_sizes(base.sizes(), begin, end));
}
/// The view with two axes exchanged. Throws index_error.
template <Expression X>
auto transpose(const X& x, std::int64_t a, std::int64_t b) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::transposed(l, a, b); });
}
/// A matrix transposed; of 0-d and 1-D tensors, the tensor. Throws shape_error for more axes.
template <Expression X>
auto t(const X& x) {
  return detail::view_through(x, [&](const detail::layout& l) {
    if (l.sizes.rank() > 2)
      throw shape_error(
          message("t: a tensor of shape ", l.sizes, " has more than two axes: name two of them with transpose(a, b)"));
    return l.sizes.rank() < 2 ? l : detail::transposed(l, 0, 1);
  });
}
/// The view whose axis i is axis order[i] of x. Throws shape_error unless `order` names every axis once, index_error.
template <Expression X>
auto permute(const X& x, const dims& order) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::permuted(l, order); });
}
/// The view with one axis moved to another place. Throws index_error.
template <Expression X>
auto movedim(const X& x, std::int64_t from, std::int64_t to) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::moved(l, from, to); });
}
/// The view without axes of size 1.
template <Expression X>
auto squeeze(const X& x) {
  return detail::view_through(x, [](const detail::layout& l) { return detail::squeezed(l); });
}
/// The view without this axis if its size is 1, else the tensor as it is. Throws index_error.
template <Expression X>
auto squeeze(const X& x, std::int64_t axis) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::squeezed(l, axis); });
}
/// The view with an axis of size 1 in this place of the result. Throws index_error.
template <Expression X>
auto unsqueeze(const X& x, std::int64_t axis) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::unsqueezed(l, axis); });
}
/// The view with axes of size 1 repeated to the sizes given and new axes in front; -1 keeps a size. Its elements share
/// memory: clone() it before writing to it. Throws shape_error where a size other than 1 would change.
template <Expression X>
auto expand(const X& x, const dims& sizes) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::expanded(l, sizes); });
}
/// The same as expand, by NumPy's name.
template <Expression X>
auto broadcast_to(const X& x, const dims& sizes) {
  return expand(x, sizes);
}
/// What slice() takes as the end when all that follows is meant.
inline constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();

/// The view of elements begin, begin + step, ... before end along an axis, as Python's x[begin:end:step]: negative
/// positions count from the back, what lies outside is left out. Throws index_error for the axis, value_error for a
/// step below 1.
template <Expression X>
auto slice(const X& x, std::int64_t axis, std::int64_t begin, std::int64_t end = to_end, std::int64_t step = 1) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::sliced(l, axis, begin, end, step); });
}
/// The view of `length` elements along an axis from `begin` on. Throws index_error unless all of them exist.
template <Expression X>
auto narrow(const X& x, std::int64_t axis, std::int64_t begin, std::int64_t length) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::narrowed(l, axis, begin, length); });
}
/// The view of one position of an axis, which is dropped. Throws index_error.
template <Expression X>
auto select(const X& x, std::int64_t axis, std::int64_t index) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::selected(l, axis, index); });
}

// ---- the same as members of Tensor ---------------------------------------------------------------------------------

template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::reshape(const dims& sizes) const -> Tensor {
  return kiln::reshape(*this, sizes);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::view(const dims& sizes) const -> Tensor {
  return kiln::view(*this, sizes);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::flatten(std::int64_t begin, std::int64_t end) const -> Tensor {
  return kiln::flatten(*this, begin, end);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::transpose(std::int64_t a, std::int64_t b) const -> Tensor {
  return kiln::transpose(*this, a, b);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::t() const -> Tensor {
  return kiln::t(*this);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::permute(const dims& order) const -> Tensor {
  return kiln::permute(*this, order);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::squeeze() const -> Tensor {
  return kiln::squeeze(*this);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::squeeze(std::int64_t axis) const -> Tensor {
  return kiln::squeeze(*this, axis);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::unsqueeze(std::int64_t axis) const -> Tensor {
  return kiln::unsqueeze(*this, axis);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::expand(const dims& sizes) const -> Tensor {
  return kiln::expand(*this, sizes);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::slice(std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) const
    -> Tensor {
  return kiln::slice(*this, axis, begin, end, step);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::narrow(std::int64_t axis, std::int64_t begin, std::int64_t length) const -> Tensor {
  return kiln::narrow(*this, axis, begin, length);
}
template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::select(std::int64_t axis, std::int64_t index) const -> Tensor {
  return kiln::select(*this, axis, index);
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/views_impl.hpp>
#endif
