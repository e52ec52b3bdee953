// SPDX-License-Identifier: BSL-1.0
// Collectives on tensors. Every rank of the group calls them, in the same order, with tensors of the same size and
// type.
#pragma once

#include <type_traits>

#include <kiln/distributed/process_group.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::distributed {

namespace detail {

/// What a collective may work on: throws device_error for a group of other memory, value_error for a view with gaps,
/// graph_error where `written` elements have gradients that would not know.
template <Element T, class Device>
elements elements_of(const Tensor<T, Device>& x, const process_group& group, const char* what, bool written) {
  constexpr bool on_host = kiln::executor<Device>::on_host;
  if (group.on_cuda() == on_host)
    throw device_error(message("distributed::", what, ": a tensor on the ", on_host ? "processor" : "GPU",
                               " cannot go through ", group.backend(),
                               on_host ? ": give it distributed::world(), or no group"
                                       : ": make a group for GPUs, distributed::nccl_group, and give it that"));
  if (!x.is_contiguous())
    throw value_error(message("distributed::", what, ": the tensor, of shape ", x.sizes(), " and strides ", x.strides(),
                              ", is a view with gaps or in another order: give it a contiguous() copy"));
  if (written && x.needs_grad() && grad_enabled())
    throw graph_error(message("distributed::", what, ": the tensor, of shape ", x.sizes(),
                              ", requires grad, and no gradient flows between processes: write `const no_grad quiet;` "
                              "before, or detach() it"));
  return {x.state()->data, x.numel(), dtype_of<T>, x.state()->memory};
}

}  // namespace detail

/// Makes x, on every rank, the sum (or mean, min, max, product) of the x of all ranks, in place. The same bits arrive
/// at all of them. Throws value_error for the mean of integers and for views with gaps, device_error where the group
/// does not reach the tensor or another rank does not come, graph_error for a tensor whose gradients are recorded.
template <Element T, class Device>
void all_reduce(Tensor<T, Device>& x, reduce_op op = reduce_op::sum, process_group& group = world()) {
  const elements mine = detail::elements_of(x, group, "all_reduce", true);
  before_overwriting(*mine.memory);
  group.start_all_reduce(mine, op)->wait();
  ++x.state()->memory->version;
}
template <Element T, class Device>
void all_reduce(Tensor<T, Device>&& x, reduce_op op = reduce_op::sum, process_group& group = world()) {
  all_reduce(x, op, group);
}

/// Makes x, on every rank, what it is on rank `root`, in place. Throws value_error for a rank that there is not; else
/// as all_reduce.
template <Element T, class Device>
void broadcast(Tensor<T, Device>& x, int root = 0, process_group& group = world()) {
  const elements mine = detail::elements_of(x, group, "broadcast", true);
  before_overwriting(*mine.memory);
  group.start_broadcast(mine, root)->wait();
  ++x.state()->memory->version;
}
template <Element T, class Device>
void broadcast(Tensor<T, Device>&& x, int root = 0, process_group& group = world()) {
  broadcast(x, root, group);
}

/// The x of all ranks: (ranks, the shape of x). Throws as all_reduce.
template <Element T, class Device>
Tensor<T, Device> all_gather(const Tensor<T, Device>& x, process_group& group = world()) {
  const elements mine = detail::elements_of(x, group, "all_gather", false);
  dims sizes{group.world_size()};
  for (const std::int64_t n : x.sizes()) sizes.push_back(n);
  Tensor<T, Device> all(kiln::executor<Device>::new_tensor(dtype_of<T>, sizes, *x.state()->memory));
  group.start_all_gather(mine, detail::elements_of(all, group, "all_gather", true))->wait();
  return all;
}

/// A number of every rank made one: `all_reduce(loss.item(), reduce_op::mean)`.
template <class Number>
  requires(std::is_arithmetic_v<Number>)
Number all_reduce(Number value, reduce_op op = reduce_op::sum, process_group& group = world()) {
  using T = std::conditional_t<std::is_floating_point_v<Number>, double, std::int64_t>;
  T wide = static_cast<T>(value);
  group.start_all_reduce({&wide, 1, dtype_of<T>, nullptr}, op)->wait();
  return static_cast<Number>(wide);
}

}  // namespace kiln::distributed
