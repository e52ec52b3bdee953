// SPDX-License-Identifier: BSL-1.0
// Views of dynamic tensors, and tensors side by side. Views share elements and history with what they show; none of
// them depends on an element type. What is pending is evaluated first.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <kiln/dynamic/tensor.hpp>

namespace kiln::dynamic {

/// The elements in the same order in another shape: a view where strides can express it, else a copy. One size may be
/// -1 and is worked out. Throws shape_error if the number of elements differs.
tensor reshape(const tensor& x, const dims& sizes);
/// Axes begin to end (both included) as one. Throws index_error, value_error.
tensor flatten(const tensor& x, std::int64_t begin = 0, std::int64_t end = -1);
/// Two axes exchanged. Throws index_error.
tensor transpose(const tensor& x, std::int64_t a, std::int64_t b);
/// Axis i of the result is axis order[i]. Throws shape_error unless every axis is named once, index_error.
tensor permute(const tensor& x, const dims& order);
/// One axis moved to another place. Throws index_error.
tensor movedim(const tensor& x, std::int64_t from, std::int64_t to);
/// Without axes of size 1.
tensor squeeze(const tensor& x);
/// Without this axis if its size is 1. Throws index_error.
tensor squeeze(const tensor& x, std::int64_t axis);
/// With an axis of size 1 in this place. Throws index_error.
tensor unsqueeze(const tensor& x, std::int64_t axis);
/// Axes of size 1 repeated, new axes in front; -1 keeps a size. Throws shape_error where another size would change.
tensor expand(const tensor& x, const dims& sizes);
/// `length` elements of an axis from `begin` on. Throws index_error unless all of them exist.
tensor narrow(const tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t length);
/// Elements begin, begin + step, ... before end of an axis, as Python's slices. Throws index_error, value_error.
tensor slice(const tensor& x, std::int64_t axis, std::int64_t begin,
                    std::int64_t end = std::numeric_limits<std::int64_t>::max(), std::int64_t step = 1);
/// One position of an axis, which is dropped. Throws index_error.
tensor select(const tensor& x, std::int64_t axis, std::int64_t index);
/// The diagonal of the last two axes as the last axis. Throws shape_error for fewer than two.
tensor diagonal(const tensor& x, std::int64_t offset = 0);
/// The elements on and below a diagonal, 0 above it. Lazy. Throws shape_error for fewer than two axes.
tensor tril(const tensor& x, std::int64_t offset = 0);
/// The elements on and above a diagonal, 0 below it. Lazy. Throws shape_error for fewer than two axes.
tensor triu(const tensor& x, std::int64_t offset = 0);

/// Tensors side by side along an axis they have; of several types, as the common one. Throws value_error for none,
/// shape_error if another size differs, index_error.
tensor cat(std::span<const tensor> parts, std::int64_t axis = 0);
/// Tensors of one shape side by side along a new axis. Throws value_error for none, shape_error, index_error.
tensor stack(std::span<const tensor> parts, std::int64_t axis = 0);

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/shape_impl.hpp>
#endif
