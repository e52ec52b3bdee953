// SPDX-License-Identifier: BSL-1.0
// Elements chosen by position: tables of rows, places of extremes, masks. Compiled for each element type.
#pragma once

#include <cstdint>
#include <span>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/shape.hpp>

namespace kiln::dynamic {

namespace graph {
/// An index as int64. Throws dtype_error for what is no integer.
Tensor<std::int64_t> as_index(const tensor& index, const char* where);
}  // namespace graph

/// The slices of x along an axis that a 1-D index names, in its order. Throws index_error for an index outside
/// [0, size), shape_error for another rank, dtype_error for an index of no integer type.
tensor index_select(const tensor& x, std::int64_t axis, const tensor& index);
/// result[i][j] = x[i][index[i][j]] along an axis. Throws as index_select.
tensor gather(const tensor& x, std::int64_t axis, const tensor& index);
/// x with `values`, of its type, added where an index names them along an axis: one element for each of the index.
/// Throws as index_select, dtype_error for values of another type.
tensor scatter_add(const tensor& x, std::int64_t axis, const tensor& index, const tensor& values);
/// The elements in the opposite order along axes; none named means all. Throws index_error.
tensor flip(const tensor& x, std::span<const std::int64_t> over = {});

/// Where the largest element is: along one axis, or, if none is named, in the row-major order of all. Of equal elements
/// the first. Throws value_error if there is none or for several axes, index_error.
tensor argmax(const tensor& x, std::span<const std::int64_t> over = {}, bool keepdim = false);
/// Where the smallest element is, by the same rules.
tensor argmin(const tensor& x, std::span<const std::int64_t> over = {}, bool keepdim = false);

/// The positions of elements other than 0, a row for each.
tensor nonzero(const tensor& x);
/// The elements of x where a mask is true, as a 1-D tensor; the two broadcast. Throws shape_error, dtype_error.
tensor masked_select(const tensor& x, const tensor& mask);
/// A row of `classes` elements per label, 1 at the label and 0 elsewhere; -1 means the largest label plus one. Throws
/// value_error for a label outside [0, classes), dtype_error for labels of no integer type.
tensor one_hot(const tensor& labels, std::int64_t classes = -1, dtype type = dtype::int64);

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/indexing_impl.hpp>
#endif
