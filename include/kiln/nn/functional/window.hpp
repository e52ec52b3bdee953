// SPDX-License-Identifier: BSL-1.0
// What convolutions and poolings share: checks of their options, sizes of their results, operands in one piece, and
// the way a result joins the graph.
#pragma once

#include <cstdint>
#include <utility>

#include <kiln/core/version.hpp>
#include <kiln/core/window.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::detail {

/// Throws value_error unless stride and dilation are 1 or more, the padding 0 or more, and all of them below 2^31;
/// shape_error for a kernel without elements.
void check_window(const window2d& w, const char* where);

/// How many places a window has along an axis, less than 1 if it is too large: floor((size + 2 padding - reach) /
/// stride) + 1, where `reach` is the distance from its first to its last element, both included. With `ceil` the
/// quotient is rounded up, but a last place that would begin in the padding behind the axis is left out.
constexpr std::int64_t window_places(std::int64_t size, std::int64_t reach, std::int64_t stride, std::int64_t padding,
                                     bool ceil = false) {
  const std::int64_t extent = size + 2 * padding - reach;
  const std::int64_t way = extent + (ceil ? stride - 1 : 0);
  std::int64_t places = (way < 0 ? -((stride - 1 - way) / stride) : way / stride) + 1;
  if (ceil && (places - 1) * stride >= size + padding) --places;
  return places;
}

/// Rows and columns of the result of a window that moves over an image. Throws shape_error if the window is larger
/// than the image with its padding; `shape` is that of the operand.
pair2d window_places(const pair2d& image, const window2d& w, bool ceil, const dims& shape, const char* where);

/// An uninitialised contiguous tensor on the device of x.
template <Element T, class Device>
ref<tensor_state> new_output(const Tensor<T, Device>& x, const dims& sizes) {
  return executor<Device>::new_tensor(dtype_of<T>, sizes, *x.state()->memory);
}

/// The tensor itself if its elements lie in row-major order without gaps, else a copy; to be read for `result`. Throws
/// device_error if that is on another device.
template <Element T, class Device>
Tensor<T, Device> in_one_piece(const Tensor<T, Device>& x, const tensor_state& result) {
  const no_grad quiet;
  executor<Device>::check_operand(*x.state()->memory, *result.memory);
  return x.contiguous_layout() ? x : x.detach().clone();
}

/// The result as a tensor whose gradient goes to `node`.
template <Element T, class Device>
Tensor<T, Device> with_producer(ref<tensor_state> out, graph_node* node) {
  set_producer(*out, node);
  return Tensor<T, Device>(std::move(out));
}

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/nn/functional/window_impl.hpp>
#endif
