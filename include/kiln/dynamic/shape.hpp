// SPDX-License-Identifier: BSL-1.0
// Views of dynamic tensors, and tensors side by side. Views share elements and history with what they show; none of
// them depends on an element type. What is pending is evaluated first.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <kiln/dynamic/kernels.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/triangular.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::dynamic {

namespace graph {
template <class Change>
tensor seen(const tensor& x, const Change& change) {
  return tensor::of(detail::new_view(x.state(), adding_kernel(x.type()), detail::layout_change(change)));
}
inline tensor seen_as(const tensor& x, const dims& wanted) {
  return seen(x, [&](const detail::layout& l) { return *detail::reshaped(l, wanted); });
}
}  // namespace graph

/// The elements in the same order in another shape: a view where strides can express it, else a copy. One size may be
/// -1 and is worked out. Throws shape_error if the number of elements differs.
inline tensor reshape(const tensor& x, const dims& sizes) {
  const dims wanted = detail::resolved_sizes(x.sizes(), sizes, "reshape");
  const ref<tensor_state>& state = x.state();
  const bool fits = detail::reshaped({state->sizes, state->strides, 0}, wanted).has_value();
  return graph::seen_as(fits ? x : x.clone(), wanted);
}
/// Axes begin to end (both included) as one. Throws index_error, value_error.
inline tensor flatten(const tensor& x, std::int64_t begin = 0, std::int64_t end = -1) {
  return reshape(x, detail::flattened_sizes(x.sizes(), begin, end));
}
/// Two axes exchanged. Throws index_error.
inline tensor transpose(const tensor& x, std::int64_t a, std::int64_t b) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::transposed(l, a, b); });
}
/// Axis i of the result is axis order[i]. Throws shape_error unless every axis is named once, index_error.
inline tensor permute(const tensor& x, const dims& order) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::permuted(l, order); });
}
/// One axis moved to another place. Throws index_error.
inline tensor movedim(const tensor& x, std::int64_t from, std::int64_t to) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::moved(l, from, to); });
}
/// Without axes of size 1.
inline tensor squeeze(const tensor& x) {
  return graph::seen(x, [](const detail::layout& l) { return detail::squeezed(l); });
}
/// Without this axis if its size is 1. Throws index_error.
inline tensor squeeze(const tensor& x, std::int64_t axis) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::squeezed(l, axis); });
}
/// With an axis of size 1 in this place. Throws index_error.
inline tensor unsqueeze(const tensor& x, std::int64_t axis) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::unsqueezed(l, axis); });
}
/// Axes of size 1 repeated, new axes in front; -1 keeps a size. Throws shape_error where another size would change.
inline tensor expand(const tensor& x, const dims& sizes) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::expanded(l, sizes); });
}
/// `length` elements of an axis from `begin` on. Throws index_error unless all of them exist.
inline tensor narrow(const tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t length) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::narrowed(l, axis, begin, length); });
}
/// Elements begin, begin + step, ... before end of an axis, as Python's slices. Throws index_error, value_error.
inline tensor slice(const tensor& x, std::int64_t axis, std::int64_t begin,
                    std::int64_t end = std::numeric_limits<std::int64_t>::max(), std::int64_t step = 1) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::sliced(l, axis, begin, end, step); });
}
/// One position of an axis, which is dropped. Throws index_error.
inline tensor select(const tensor& x, std::int64_t axis, std::int64_t index) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::selected(l, axis, index); });
}
/// The diagonal of the last two axes as the last axis. Throws shape_error for fewer than two.
inline tensor diagonal(const tensor& x, std::int64_t offset = 0) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::diagonal_of(l, offset); });
}
namespace graph {
/// The column of each element minus its row.
inline tensor columns_minus_rows(const dims& sizes, const char* where) {
  return Tensor<std::int64_t>(detail::columns_minus_rows(kiln::expand(Tensor<bool>(true), sizes), where));
}
}  // namespace graph

/// The elements on and below a diagonal, 0 above it. Lazy. Throws shape_error for fewer than two axes.
inline tensor tril(const tensor& x, std::int64_t offset = 0) {
  const tensor place = graph::columns_minus_rows(x.sizes(), "tril");
  return call("where", {call("le", {place, scalar(offset)}), x, scalar(0)});
}
/// The elements on and above a diagonal, 0 below it. Lazy. Throws shape_error for fewer than two axes.
inline tensor triu(const tensor& x, std::int64_t offset = 0) {
  const tensor place = graph::columns_minus_rows(x.sizes(), "triu");
  return call("where", {call("ge", {place, scalar(offset)}), x, scalar(0)});
}

/// Tensors side by side along an axis they have; of several types, as the common one. Throws value_error for none,
/// shape_error if another size differs, index_error.
inline tensor cat(std::span<const tensor> parts, std::int64_t axis = 0) {
  if (parts.empty()) throw value_error("cat: nothing to join: give one tensor at least");
  dtype type = parts[0].type();
  for (const tensor& part : parts) type = promote(type, part.type());
  std::vector<ref<tensor_state>> states;
  for (const tensor& part : parts) states.push_back(part.to(type).state());
  return tensor::of(detail::join(states, axis, graph::copying_kernel(type), graph::adding_kernel(type)));
}
/// Tensors of one shape side by side along a new axis. Throws value_error for none, shape_error, index_error.
inline tensor stack(std::span<const tensor> parts, std::int64_t axis = 0) {
  if (parts.empty()) throw value_error("stack: nothing to join: give one tensor at least");
  std::vector<tensor> wider;
  for (const tensor& part : parts) {
    if (part.sizes() != parts[0].sizes())
      throw shape_error(message("stack: shapes ", parts[0].sizes(), " and ", part.sizes(),
                                " differ: all must be equal (or join them with cat)"));
    wider.push_back(unsqueeze(part, axis));
  }
  return cat(wider, axis < 0 ? axis + parts[0].dim() + 1 : axis);
}

}  // namespace kiln::dynamic
