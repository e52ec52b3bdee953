// SPDX-License-Identifier: BSL-1.0
// Elements chosen by position: tables of rows, places of extremes, masks. Compiled for each element type.
#pragma once

#include <cstdint>
#include <span>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/tensor/argmax.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/mask.hpp>
#include <kiln/tensor/one_hot.hpp>

namespace kiln::dynamic {

namespace graph {
/// An index as int64. Throws dtype_error for what is no integer.
inline Tensor<std::int64_t> as_index(const tensor& index, const char* where) {
  if (is_floating(index.type()) || index.type() == dtype::boolean)
    throw dtype_error(message(where, ": an index of ", name(index.type()), index.sizes(),
                              " names no positions: convert it with to(kiln::dtype::int64)"));
  return index.to(dtype::int64).as<std::int64_t>();
}
inline axes axes_from(std::span<const std::int64_t> over) {
  return over.empty() ? axes() : axes(over);
}
}  // namespace graph

/// The slices of x along an axis that a 1-D index names, in its order. Throws index_error for an index outside
/// [0, size), shape_error for another rank, dtype_error for an index of no integer type.
inline tensor index_select(const tensor& x, std::int64_t axis, const tensor& index) {
  const auto at = graph::as_index(index, "index_select");
  return with_type(x.type(),
                   [&]<class T>(std::type_identity<T>) { return tensor(kiln::index_select(x.as<T>(), axis, at)); });
}
/// result[i][j] = x[i][index[i][j]] along an axis. Throws as index_select.
inline tensor gather(const tensor& x, std::int64_t axis, const tensor& index) {
  const auto at = graph::as_index(index, "gather");
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) { return tensor(kiln::gather(x.as<T>(), axis, at)); });
}
/// x with `values`, of its type, added where an index names them along an axis: one element for each of the index.
/// Throws as index_select, dtype_error for values of another type.
inline tensor scatter_add(const tensor& x, std::int64_t axis, const tensor& index, const tensor& values) {
  const auto at = graph::as_index(index, "scatter_add");
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) -> tensor {
    if constexpr (std::same_as<T, bool>)
      throw dtype_error("scatter_add: bools are not added: convert x with to(kiln::dtype::int64)");
    else
      return kiln::scatter_add(x.as<T>(), axis, at, values.as<T>());
  });
}
/// The elements in the opposite order along axes; none named means all. Throws index_error.
inline tensor flip(const tensor& x, std::span<const std::int64_t> over = {}) {
  const std::uint32_t mask = graph::axes_from(over).mask(x.dim(), "flip");
  tensor result = x;
  for (int i = 0; i < x.dim(); ++i)
    if (mask >> i & 1 && x.sizes()[i] > 1) result = index_select(result, i, dynamic::arange(x.sizes()[i] - 1, -1, -1));
  return result;
}

/// Where the largest element is: along one axis, or, if none is named, in the row-major order of all. Of equal elements
/// the first. Throws value_error if there is none or for several axes, index_error.
inline tensor argmax(const tensor& x, std::span<const std::int64_t> over = {}, bool keepdim = false) {
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) {
    return tensor(kiln::argmax(x.as<T>(), graph::axes_from(over), keepdim));
  });
}
/// Where the smallest element is, by the same rules.
inline tensor argmin(const tensor& x, std::span<const std::int64_t> over = {}, bool keepdim = false) {
  return with_type(x.type(), [&]<class T>(std::type_identity<T>) {
    return tensor(kiln::argmin(x.as<T>(), graph::axes_from(over), keepdim));
  });
}

/// The positions of elements other than 0, a row for each.
inline tensor nonzero(const tensor& x) {
  return kiln::nonzero(x.to(dtype::boolean).as<bool>());
}
/// The elements of x where a mask is true, as a 1-D tensor; the two broadcast. Throws shape_error, dtype_error.
inline tensor masked_select(const tensor& x, const tensor& mask) {
  dims sizes = x.sizes();
  broadcast_into(sizes, mask.sizes(), "masked_select");
  const auto truth = mask.as<bool>();
  return with_type(x.type(),
                   [&]<class T>(std::type_identity<T>) { return tensor(kiln::masked_select(x.as<T>(), truth)); });
}
/// A row of `classes` elements per label, 1 at the label and 0 elsewhere; -1 means the largest label plus one. Throws
/// value_error for a label outside [0, classes), dtype_error for labels of no integer type.
inline tensor one_hot(const tensor& labels, std::int64_t classes = -1, dtype type = dtype::int64) {
  return tensor(kiln::one_hot(graph::as_index(labels, "one_hot"), classes)).to(type);
}

}  // namespace kiln::dynamic
