// SPDX-License-Identifier: BSL-1.0
// The definitions of indexing.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <string_view>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/kernels.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/tensor/argmax.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/mask.hpp>
#include <kiln/tensor/one_hot.hpp>

namespace kiln::dynamic {

namespace graph {
inline tensor as_positions(const tensor& index, const char* where) {
  if (is_floating(index.type()) || index.type() == dtype::boolean)
    throw dtype_error(message(where, ": an index of ", name(index.type()), index.sizes(),
                              " names no positions: convert it with to(kiln::dtype::int64)"));
  return index.to(dtype::int64);
}
KILN_INLINE Tensor<std::int64_t> as_index(const tensor& index, const char* where) {
  return as_positions(index, where).as<std::int64_t>();
}
inline axes axes_from(std::span<const std::int64_t> over) {
  return over.empty() ? axes() : axes(over);
}
/// A node at a result of indexing, where an operand has gradients.
inline void record_index(const detail::index_axes& how, index_move move, const tensor_state& index,
                         const tensor_state& table, const tensor_state* values, const detail::index_functions& f,
                         tensor_state& out) {
  if (!is_floating(out.type) || !grad_enabled() || !(table.autograd_metadata || (values && values->autograd_metadata)))
    return;
  detail::set_producer(out, new detail::index_node(how, move, index, table, values, f));
}
inline tensor gathered(const tensor& x, const tensor& index, const detail::index_axes& how) {
  const detail::index_functions& f = index_functions(x.type(), x.device());
  const tensor_state &table = *x.state(), &at = *index.state();
  const ref<tensor_state> out = f.device->new_tensor(x.type(), how.domain, *table.memory);
  f.device->check_operand(*at.memory, *out->memory);
  f.run(detail::job_of(how, index_move::gather, at.data, table, *out, out->strides), *out->memory);
  record_index(how, index_move::gather, at, table, nullptr, f, *out);
  return tensor::of(out, x.device());
}
}  // namespace graph

KILN_INLINE tensor index_select(const tensor& x, std::int64_t axis, const tensor& index) {
  graph::check_together("index_select", x, index);
  const tensor at = graph::as_positions(index, "index_select");
  return graph::gathered(x, at, detail::axes_of_select(x.sizes(), *at.state(), axis, "index_select"));
}
KILN_INLINE tensor gather(const tensor& x, std::int64_t axis, const tensor& index) {
  graph::check_together("gather", x, index);
  const tensor at = graph::as_positions(index, "gather");
  return graph::gathered(x, at, detail::axes_of_gather(x.sizes(), *at.state(), axis, "gather"));
}
KILN_INLINE tensor scatter_add(const tensor& x, std::int64_t axis, const tensor& index, const tensor& values) {
  graph::check_together("scatter_add", x, index);
  graph::check_together("scatter_add", x, values);
  if (x.type() == dtype::boolean)
    throw dtype_error("scatter_add: bools are not added: convert x with to(kiln::dtype::int64)");
  if (values.type() != x.type())
    throw dtype_error(message("scatter_add: values of ", name(values.type()), " are not added to a tensor of ",
                              name(x.type()), ": convert them with to()"));
  const tensor at = graph::as_positions(index, "scatter_add");
  const detail::index_axes how = detail::axes_of_gather(x.sizes(), *at.state(), axis, "scatter_add");
  bool covers = values.dim() == how.domain.rank();
  for (int i = 0; i < how.domain.rank() && covers; ++i) covers = values.sizes()[i] >= how.domain[i];
  if (!covers)
    throw shape_error(message("scatter_add: values of shape ", values.sizes(), " do not cover ", how.domain,
                              ", the positions that the index names: along no axis may they be shorter"));
  const ref<tensor_state> table = x.state(), from = values.state();
  const ref<tensor_state> out = [&] {
    const no_grad quiet;
    return x.clone().state();
  }();
  const detail::index_functions& f = graph::index_functions(x.type(), x.device());
  f.device->check_operand(*at.state()->memory, *out->memory);
  f.device->check_operand(*from->memory, *out->memory);
  f.run(detail::job_of(how, index_move::scatter_add, at.state()->data, *out, *from, from->strides), *out->memory);
  graph::record_index(how, index_move::scatter_add, *at.state(), *table, from.get(), f, *out);
  return tensor::of(out, x.device());
}
KILN_INLINE tensor flip(const tensor& x, std::span<const std::int64_t> over) {
  const std::uint32_t mask = graph::axes_from(over).mask(x.dim(), "flip");
  tensor result = x;
  for (int i = 0; i < x.dim(); ++i)
    if (mask >> i & 1 && x.sizes()[i] > 1)
      result = index_select(result, i, dynamic::arange(x.sizes()[i] - 1, -1, -1).to(x.device()));
  return result;
}
namespace graph {
/// Where the best elements are, by reductions: on devices whose elements the program cannot read. As on the host: of
/// equal ones the first, and a nan is better than all else.
inline tensor best_positions(const char* where, const tensor& of, std::span<const std::int64_t> over, bool keepdim) {
  const no_grad quiet;
  const std::uint32_t every = (1u << of.dim()) - 1, mask = axes_from(over).mask(of.dim(), where);
  if (mask != every && !std::has_single_bit(mask))
    throw value_error(
        message(where, ": several axes of shape ", of.sizes(), ": give one axis, or none for all elements"));
  const tensor x = of.type() == dtype::boolean ? of.to(dtype::uint8) : of;
  const bool all = mask == every;
  const tensor rows = all ? reshape(x, {x.numel()}) : x;
  const std::int64_t axis = all ? 0 : std::countr_zero(mask), n = rows.size(axis);
  if (n == 0)
    throw value_error(message(where, ": shape ", of.sizes(), " has no elements to choose from along ",
                              all ? "its axes" : "this axis", ": check for an empty tensor first"));
  dims along = dims::filled(rows.dim(), 1);
  along[static_cast<int>(axis)] = n;
  const tensor position = reshape(dynamic::arange(n).to(x.device()), along);
  const tensor best = reduce(std::string_view(where) == "argmax" ? "max" : "min", rows, {axis}, true).eval();
  tensor chosen = call("eq", {rows, best});
  if (is_floating(x.type())) chosen = call("logical_or", {chosen, call("ne", {rows, rows})});
  const tensor found = reduce("min", call("where", {chosen, position, scalar(n)}), {axis}, keepdim && !all);
  return reshape(found, reduced_sizes(of.sizes(), mask, keepdim));
}
}  // namespace graph

KILN_INLINE tensor argmax(const tensor& x, std::span<const std::int64_t> over, bool keepdim) {
  if (!x.device().on_host()) return graph::best_positions("argmax", x, over, keepdim);
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) {
    return tensor(kiln::argmax(x.as<T>(), graph::axes_from(over), keepdim));
  });
}
KILN_INLINE tensor argmin(const tensor& x, std::span<const std::int64_t> over, bool keepdim) {
  if (!x.device().on_host()) return graph::best_positions("argmin", x, over, keepdim);
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) {
    return tensor(kiln::argmin(x.as<T>(), graph::axes_from(over), keepdim));
  });
}
KILN_INLINE tensor nonzero(const tensor& x) {
  return tensor(kiln::nonzero(x.to(dtype::boolean).to(device{}).as<bool>())).to(x.device());
}
KILN_INLINE tensor masked_select(const tensor& x, const tensor& mask) {
  dims sizes = x.sizes();
  broadcast_into(sizes, mask.sizes(), "masked_select");
  graph::check_together("masked_select", x, mask);
  if (mask.type() != dtype::boolean)
    throw dtype_error(message("masked_select: a mask of ", name(mask.type()), ": it is one of bools, such as x > 0"));
  const tensor chosen = nonzero(reshape(expand(mask, sizes), {count(sizes)}));
  return index_select(reshape(expand(x, sizes), {count(sizes)}), 0, reshape(chosen, {chosen.numel()}));
}
KILN_INLINE tensor one_hot(const tensor& labels, std::int64_t classes, dtype type) {
  return tensor(kiln::one_hot(graph::as_index(labels.to(device{}), "one_hot"), classes)).to(type).to(labels.device());
}

}  // namespace kiln::dynamic
