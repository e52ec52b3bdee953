// SPDX-License-Identifier: BSL-1.0
// The definitions of indexing.hpp.
#pragma once

#include <kiln/dynamic/indexing.hpp>
#include <kiln/tensor/argmax.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/mask.hpp>
#include <kiln/tensor/one_hot.hpp>

namespace kiln::dynamic {

namespace graph {
KILN_INLINE Tensor<std::int64_t> as_index(const tensor& index, const char* where) {
  if (is_floating(index.type()) || index.type() == dtype::boolean)
    throw dtype_error(message(where, ": an index of ", name(index.type()), index.sizes(),
                              " names no positions: convert it with to(kiln::dtype::int64)"));
  return index.to(dtype::int64).as<std::int64_t>();
}
inline axes axes_from(std::span<const std::int64_t> over) {
  return over.empty() ? axes() : axes(over);
}
}  // namespace graph

KILN_INLINE tensor index_select(const tensor& x, std::int64_t axis, const tensor& index) {
  const auto at = graph::as_index(index, "index_select");
  return with_type(x.type(),
                   [&]<class T>(std::type_identity<T>) { return tensor(kiln::index_select(x.as<T>(), axis, at)); });
}
KILN_INLINE tensor gather(const tensor& x, std::int64_t axis, const tensor& index) {
  const auto at = graph::as_index(index, "gather");
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) { return tensor(kiln::gather(x.as<T>(), axis, at)); });
}
KILN_INLINE tensor scatter_add(const tensor& x, std::int64_t axis, const tensor& index, const tensor& values) {
  const auto at = graph::as_index(index, "scatter_add");
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) -> tensor {
    if constexpr (std::same_as<T, bool>)
      throw dtype_error("scatter_add: bools are not added: convert x with to(kiln::dtype::int64)");
    else
      return kiln::scatter_add(x.as<T>(), axis, at, values.as<T>());
  });
}
KILN_INLINE tensor flip(const tensor& x, std::span<const std::int64_t> over) {
  const std::uint32_t mask = graph::axes_from(over).mask(x.dim(), "flip");
  tensor result = x;
  for (int i = 0; i < x.dim(); ++i)
    if (mask >> i & 1 && x.sizes()[i] > 1) result = index_select(result, i, dynamic::arange(x.sizes()[i] - 1, -1, -1));
  return result;
}
KILN_INLINE tensor argmax(const tensor& x, std::span<const std::int64_t> over, bool keepdim) {
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) {
    return tensor(kiln::argmax(x.as<T>(), graph::axes_from(over), keepdim));
  });
}
KILN_INLINE tensor argmin(const tensor& x, std::span<const std::int64_t> over, bool keepdim) {
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) {
    return tensor(kiln::argmin(x.as<T>(), graph::axes_from(over), keepdim));
  });
}
KILN_INLINE tensor nonzero(const tensor& x) {
  return kiln::nonzero(x.to(dtype::boolean).as<bool>());
}
KILN_INLINE tensor masked_select(const tensor& x, const tensor& mask) {
  dims sizes = x.sizes();
  broadcast_into(sizes, mask.sizes(), "masked_select");
  const auto truth = mask.as<bool>();
  return with_type(x.type(),
                   [&]<class T>(std::type_identity<T>) { return tensor(kiln::masked_select(x.as<T>(), truth)); });
}
KILN_INLINE tensor one_hot(const tensor& labels, std::int64_t classes, dtype type) {
  return tensor(kiln::one_hot(graph::as_index(labels, "one_hot"), classes)).to(type);
}

}  // namespace kiln::dynamic
