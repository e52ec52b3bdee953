// SPDX-License-Identifier: BSL-1.0
// The definitions of shape.hpp.
#pragma once

#include <kiln/dynamic/kernels.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/triangular.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::dynamic {

namespace graph {
template <class Change>
tensor seen(const tensor& x, const Change& change) {
  return tensor::of(detail::new_view(x.state(), adding_kernel(x.type(), x.device()), detail::layout_change(change)),
                    x.device());
}
inline tensor seen_as(const tensor& x, const dims& wanted) {
  return seen(x, [&](const detail::layout& l) { return *detail::reshaped(l, wanted); });
}
/// The column of each element minus its row.
inline tensor columns_minus_rows(const tensor& like, const char* where) {
  const Tensor<std::int64_t> made(detail::columns_minus_rows(kiln::expand(Tensor<bool>(true), like.sizes()), where));
  return tensor(made).to(like.device());
}
}  // namespace graph

KILN_INLINE tensor reshape(const tensor& x, const dims& sizes) {
  const dims wanted = detail::resolved_sizes(x.sizes(), sizes, "reshape");
  const ref<tensor_state>& state = x.state();
  const bool fits = detail::reshaped({state->sizes, state->strides, 0}, wanted).has_value();
  return graph::seen_as(fits ? x : x.clone(), wanted);
}
KILN_INLINE tensor flatten(const tensor& x, std::int64_t begin, std::int64_t end) {
  return reshape(x, detail::flattened_sizes(x.sizes(), begin, end));
}
KILN_INLINE tensor transpose(const tensor& x, std::int64_t a, std::int64_t b) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::transposed(l, a, b); });
}
KILN_INLINE tensor permute(const tensor& x, const dims& order) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::permuted(l, order); });
}
KILN_INLINE tensor movedim(const tensor& x, std::int64_t from, std::int64_t to) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::moved(l, from, to); });
}
KILN_INLINE tensor squeeze(const tensor& x) {
  return graph::seen(x, [](const detail::layout& l) { return detail::squeezed(l); });
}
KILN_INLINE tensor squeeze(const tensor& x, std::int64_t axis) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::squeezed(l, axis); });
}
KILN_INLINE tensor unsqueeze(const tensor& x, std::int64_t axis) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::unsqueezed(l, axis); });
}
KILN_INLINE tensor expand(const tensor& x, const dims& sizes) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::expanded(l, sizes); });
}
KILN_INLINE tensor narrow(const tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t length) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::narrowed(l, axis, begin, length); });
}
KILN_INLINE tensor slice(const tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::sliced(l, axis, begin, end, step); });
}
KILN_INLINE tensor select(const tensor& x, std::int64_t axis, std::int64_t index) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::selected(l, axis, index); });
}
KILN_INLINE tensor diagonal(const tensor& x, std::int64_t offset) {
  return graph::seen(x, [&](const detail::layout& l) { return detail::diagonal_of(l, offset); });
}
namespace graph {
// 0, which does not change the type of x.
inline tensor beside_triangle(const tensor& x) {
  return x.type() == dtype::boolean ? scalar(false) : scalar(0);
}
}  // namespace graph
KILN_INLINE tensor tril(const tensor& x, std::int64_t offset) {
  const tensor place = graph::columns_minus_rows(x, "tril");
  return call("where", {call("le", {place, scalar(offset)}), x, graph::beside_triangle(x)});
}
KILN_INLINE tensor triu(const tensor& x, std::int64_t offset) {
  const tensor place = graph::columns_minus_rows(x, "triu");
  return call("where", {call("ge", {place, scalar(offset)}), x, graph::beside_triangle(x)});
}
namespace graph {
inline tensor joined(std::span<const tensor> parts, std::int64_t axis, const char* name_of_caller) {
  if (parts.empty()) throw value_error(message(name_of_caller, ": nothing to join: give one tensor at least"));
  dtype type = parts[0].type();
  const device where = parts[0].device();
  for (const tensor& part : parts) {
    type = promote(type, part.type());
    if (part.device() != where)
      throw device_error(message(name_of_caller, ": parts are on ", name(where), " and ", name(part.device()),
                                 ": bring them together with to()"));
  }
  std::vector<ref<tensor_state>> states;
  for (const tensor& part : parts) states.push_back(part.to(type).state());
  return tensor::of(detail::join(states, axis, copying_kernel(type, where), adding_kernel(type, where), name_of_caller),
                    where);
}
}  // namespace graph

KILN_INLINE tensor cat(std::span<const tensor> parts, std::int64_t axis) {
  return graph::joined(parts, axis, "cat");
}
KILN_INLINE tensor stack(std::span<const tensor> parts, std::int64_t axis) {
  if (parts.empty()) throw value_error("stack: nothing to join: give one tensor at least");
  std::vector<tensor> wider;
  for (const tensor& part : parts) {
    if (part.sizes() != parts[0].sizes())
      throw shape_error(message("stack: shapes ", parts[0].sizes(), " and ", part.sizes(),
                                " differ: all must be equal (or join them with cat)"));
    wider.push_back(graph::seen(part, [&](const detail::layout& l) { return detail::unsqueezed(l, axis, "stack"); }));
  }
  return graph::joined(wider, axis < 0 ? axis + parts[0].dim() + 1 : axis, "stack");
}

}  // namespace kiln::dynamic
