// SPDX-License-Identifier: BSL-1.0
// Views: other sizes and strides over the same elements. Each is a change of a `layout`; the gradient of a view is
// added through the same change of the gradient of what it looks at, so no view needs a rule of its own. Applied to an
// expression, a view evaluates it first.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include <kiln/tensor/layout.hpp>
#include <kiln/tensor/tensor.hpp>
#include <kiln/tensor/view_metadata.hpp>

namespace kiln {

namespace detail {

/// The expression as a tensor: evaluated, unless it is one.
template <Expression X>
auto as_tensor(const X& x) {
  if constexpr (requires { x.selected(); })  // x[mask]
    return x.selected();
  else if constexpr (Leaf<X>)
    return x;
  else
    return Tensor<typename X::value_type, typename X::device_type>(x);
}

/// Defined by transforms, for their tensors: `through(x, change)` and `reshaped(x, sizes)`.
template <class X>
struct transformed_views;
template <class X>
inline constexpr bool is_transformed = requires {
  typename X::device_type::below;
};

/// Whether one of these is a tensor within vmap or jvp, for functions that have no meaning there.
template <class... X>
inline constexpr bool any_transformed = (is_transformed<X> || ...);

template <Expression X, class Change>
auto view_through(const X& x, const Change& change) {
  const auto base = as_tensor(x);
  if constexpr (is_transformed<X>)
    return transformed_views<std::remove_const_t<decltype(base)>>::through(base, change);
  else
    return std::remove_const_t<decltype(base)>(new_view(
        base.state(), adding_kernel<typename X::value_type, typename X::device_type>(), layout_change(change)));
}

/// A tensor in other sizes that its strides allow.
template <Leaf X>
auto seen_as(const X& base, const dims& wanted) {
  return view_through(base, [&](const layout& l) {
    const auto changed = reshaped(l, wanted);
    if (!changed)
      throw shape_error(message("view: shape ", l.sizes, " with strides ", l.strides, " cannot be seen as ", wanted,
                                " without a copy: use reshape, which copies where it must"));
    return *changed;
  });
}

}  // namespace detail

/// The elements, in the same order, in another shape: a view where strides can express it, else a copy. One size may be
/// -1 and is worked out. Throws shape_error if the number of elements differs.
template <Expression X>
auto reshape(const X& x, const dims& sizes) {
  const auto base = detail::as_tensor(x);
  if constexpr (detail::is_transformed<X>) {
    return detail::transformed_views<std::remove_const_t<decltype(base)>>::reshaped(base, sizes);
  } else {
    const dims wanted = detail::resolved_sizes(base.sizes(), sizes, "reshape");
    if (detail::reshaped({base.sizes(), base.strides(), 0}, wanted)) return detail::seen_as(base, wanted);
    return detail::seen_as(base.clone(), wanted);
  }
}
/// Sizes may stand without braces; so for view, expand and permute.
template <Expression X, detail::SizeLike... Sizes>
  requires(sizeof...(Sizes) > 0)
auto reshape(const X& x, Sizes... sizes) {
  return reshape(x, dims{sizes...});
}
/// As reshape, but never a copy. Throws shape_error if the strides allow no view.
template <Expression X>
auto view(const X& x, const dims& sizes) {
  const auto base = detail::as_tensor(x);
  const dims wanted = detail::resolved_sizes(base.sizes(), sizes, "view");
  return detail::seen_as(base, wanted);
}
template <Expression X, detail::SizeLike... Sizes>
  requires(sizeof...(Sizes) > 0)
auto view(const X& x, Sizes... sizes) {
  return view(x, dims{sizes...});
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
/// The same as transpose of two axes, by NumPy's name.
template <Expression X>
auto swapaxes(const X& x, std::int64_t a, std::int64_t b) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::transposed(l, a, b, "swapaxes"); });
}
/// A matrix transposed; of other numbers of axes two must be named. Throws shape_error.
template <Expression X>
auto transpose(const X& x) {
  return detail::view_through(x, [&](const detail::layout& l) {
    if (l.sizes.rank() != 2)
      throw shape_error(message("transpose: a tensor of shape ", l.sizes,
                                " is no matrix: name two axes, transpose(x, 0, 1), or reorder all with permute"));
    return detail::transposed(l, 0, 1);
  });
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
template <Expression X, detail::SizeLike... Axes>
  requires(sizeof...(Axes) > 0)
auto permute(const X& x, Axes... order) {
  return permute(x, dims{order...});
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
template <Expression X, detail::SizeLike... Sizes>
  requires(sizeof...(Sizes) > 0)
auto expand(const X& x, Sizes... sizes) {
  return expand(x, dims{sizes...});
}
/// The same as expand, by NumPy's name.
template <Expression X>
auto broadcast_to(const X& x, const dims& sizes) {
  return detail::view_through(x, [&](const detail::layout& l) { return detail::expanded(l, sizes, "broadcast_to"); });
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

namespace detail {
/// x[0], x[1] ... along the first axis.
template <class X>
class member_iterator {
 public:
  using value_type = X;
  using reference = X;
  using pointer = void;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;

  member_iterator() = default;
  member_iterator(X of, std::int64_t at) : of_(std::move(of)), at_(at) {}
  X operator*() const { return select(of_, 0, at_); }
  member_iterator& operator++() {
    ++at_;
    return *this;
  }
  member_iterator operator++(int) {
    member_iterator before = *this;
    ++at_;
    return before;
  }
  friend bool operator==(const member_iterator& a, const member_iterator& b) { return a.at_ == b.at_; }

 private:
  X of_;
  std::int64_t at_ = 0;
};
}  // namespace detail

/// `for (auto row : x)` goes along the first axis, over the views x[0], x[1] ...: what is written to them in place is
/// written to x. An expression is evaluated. Throws shape_error for a tensor without axes.
template <Expression X>
auto begin(const X& x) {
  auto values = detail::as_tensor(x);
  if (values.sizes().rank() == 0)
    throw shape_error("for (auto row : x): a tensor of shape [] has no axis to go along: its value is x.item()");
  return detail::member_iterator<decltype(values)>(std::move(values), 0);
}
/// Where begin(x) arrives: nothing is evaluated for it.
template <Expression X>
auto end(const X& x) {
  const dims sizes = shape_of(x);
  return detail::member_iterator<decltype(detail::as_tensor(x))>({}, sizes.rank() > 0 ? sizes[0] : 0);
}

/// All of an axis, as `x[{slice(), 0}]` names it.
inline axis_range slice() {
  return {};
}
/// Elements begin, begin + step, ... before end of an axis, as `x[{slice(1, 3), 0}]` names them: Python's 1:3.
inline axis_range slice(std::int64_t begin, std::int64_t end = to_end, std::int64_t step = 1) {
  return {begin, end, step};
}

namespace detail {
inline std::string too_many_indices(std::size_t indices, const dims& sizes) {
  return message("x[{...}]: ", indices, " indices for a tensor of shape ", sizes, ": give one per axis at most");
}
}  // namespace detail

// ---- the same as members of Tensor ---------------------------------------------------------------------------------

template <Element T, class Device, class Extents>
auto Tensor<T, Device, Extents>::operator[](std::initializer_list<axis_index> indices) const -> Tensor {
  if (indices.size() > static_cast<std::size_t>(dim()))
    throw index_error(detail::too_many_indices(indices.size(), sizes()));
  return detail::view_through(*this, [&](detail::layout l) {
    int axis = 0;
    for (const axis_index& i : indices) {
      if (i.is_range)
        l = detail::sliced(l, axis++, i.range.begin, i.range.end, i.range.step);
      else
        l = detail::selected(l, axis, i.range.begin);
    }
    return l;
  });
}
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
auto Tensor<T, Device, Extents>::transpose() const -> Tensor {
  return kiln::transpose(*this);
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

template <class X>
auto common_methods<X>::swapaxes(std::int64_t a, std::int64_t b) const {
  return kiln::swapaxes(self(), a, b);
}
template <class X>
auto common_methods<X>::movedim(std::int64_t from, std::int64_t to) const {
  return kiln::movedim(self(), from, to);
}

// ---- and of expressions, which are evaluated
// --------------------------------------------------------------------------

template <class E>
auto expression_methods<E>::reshape(const dims& to) const {
  return kiln::reshape(this->self(), to);
}
template <class E>
auto expression_methods<E>::view(const dims& to) const {
  return kiln::view(this->self(), to);
}
template <class E>
auto expression_methods<E>::flatten(std::int64_t begin, std::int64_t end) const {
  return kiln::flatten(this->self(), begin, end);
}
template <class E>
auto expression_methods<E>::transpose() const {
  return kiln::transpose(this->self());
}
template <class E>
auto expression_methods<E>::transpose(std::int64_t a, std::int64_t b) const {
  return kiln::transpose(this->self(), a, b);
}
template <class E>
auto expression_methods<E>::t() const {
  return kiln::t(this->self());
}
template <class E>
auto expression_methods<E>::permute(const dims& order) const {
  return kiln::permute(this->self(), order);
}
template <class E>
auto expression_methods<E>::squeeze() const {
  return kiln::squeeze(this->self());
}
template <class E>
auto expression_methods<E>::squeeze(std::int64_t axis) const {
  return kiln::squeeze(this->self(), axis);
}
template <class E>
auto expression_methods<E>::unsqueeze(std::int64_t axis) const {
  return kiln::unsqueeze(this->self(), axis);
}
template <class E>
auto expression_methods<E>::expand(const dims& to) const {
  return kiln::expand(this->self(), to);
}
template <class E>
auto expression_methods<E>::slice(std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  return kiln::slice(this->self(), axis, begin, end, step);
}
template <class E>
auto expression_methods<E>::narrow(std::int64_t axis, std::int64_t begin, std::int64_t length) const {
  return kiln::narrow(this->self(), axis, begin, length);
}
template <class E>
auto expression_methods<E>::select(std::int64_t axis, std::int64_t index) const {
  return kiln::select(this->self(), axis, index);
}

}  // namespace kiln
