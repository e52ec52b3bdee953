// SPDX-License-Identifier: BSL-1.0
// Elements by index: index_select and gather read where an index tensor says, index_add, scatter and scatter_add write
// there. PyTorch's functions and their rules; all return a new tensor, and gradients flow through all of them. On a GPU
// the two that read are expressions, a part of the kernel around them; on the processor, which copies runs of memory
// faster than it loads lanes one by one, they are evaluated at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <kiln/core/index_job.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/recorder.hpp>
#include <kiln/tensor/views.hpp>
#include <kiln/tensor/virtual_leaf.hpp>

namespace kiln {

/// Runs index jobs on a device.
template <class Device>
struct indexer {
  static_assert(detail::never<Device>,
                "kiln: this device does not gather or scatter: move the tensors to Cpu with .to<Cpu>()");
};
template <OnHost Device>
struct indexer<Device> {
  template <Element T>
  static void run(const index_job& job, const storage&) {
    cpu::drivers::run_index<T>(job);
  }
};

namespace detail {

/// An element type on a device, as plain data: what the node below needs.
struct index_functions {
  void (*run)(const index_job& job, const storage& near);
  const device_functions* device;
  const runnable* copy;  ///< copies elements of the type, or adds to them
};
template <class T, class Device>
inline constexpr index_functions index_functions_of{&indexer<Device>::template run<T>, &functions_of<Device>,
                                                    adding_kernel<T, Device>()};

/// Copies or adds `from`, over a domain, to memory with these strides.
void move_elements(const index_functions& f, const dims& domain, const tensor_state& from, const dims& from_strides,
                   tensor_state& to, const dims& to_strides, bool add);

/// Which operand is indexed along which axis.
struct index_axes {
  int axis = 0;
  dims domain, index_strides;
  bool wide = true;
};

/// A job whose indexed operand is `table`.
index_job job_of(const index_axes& how, index_move move, const void* index, const tensor_state& table,
                 const tensor_state& values, const dims& value_strides);

/// Gradients of gather (inputs: the table) and of scatter and scatter_add (inputs: the table, the values).
class index_node final : public op_node_of<2, 1> {
 public:
  index_node(index_axes how, index_move move, const tensor_state& index, const tensor_state& table,
             const tensor_state* values, const index_functions& functions)
      : op_node_of(*functions.device), how_(std::move(how)), move_(move), functions_(functions) {
    saved[0].save(index);
    input[0] = table.autograd_metadata;
    if (values) input[1] = values->autograd_metadata;
  }
  // KILN_INLINE for the reason that graph_node gives.
  KILN_INLINE void backward(const ref<tensor_state>& gradient) override;
  [[gnu::cold]] KILN_INLINE void backward_recorded(const ref<tensor_state>& gradient,
                                                   const ref<gradient_record>&) override;

 private:
  // The gradient of an input, to be added to.
  ref<tensor_state> added(int i, const storage& near) const {
    gradient_target into = target(i, near);
    into.added(device());
    return into.tensor;
  }
  index_axes how_;
  index_move move_;
  index_functions functions_;
};

template <class I>
void check_index_type() {
  static_assert(std::is_same_v<I, std::int64_t> || std::is_same_v<I, std::int32_t>,
                "kiln: an index tensor holds int64 or int32: cast<std::int64_t>() it");
}

/// Records a node at `out` if some operand has gradients.
template <class T, class Device>
void record_index(const index_axes& how, index_move move, const tensor_state& index, const tensor_state& table,
                  const tensor_state* values, const ref<tensor_state>& out) {
  if constexpr (is_floating(dtype_of<T>)) {
    if (!grad_enabled() || !(table.autograd_metadata || (values && values->autograd_metadata))) return;
    set_producer(*out, new index_node(how, move, index, table, values, index_functions_of<T, Device>));
  }
}

/// A gather as an expression: elements taken at the places that the index names while a kernel runs.
template <class T, class I, class Device>
auto taken_by_index(const Tensor<T, Device>& x, const Tensor<I, Device>& index, const index_axes& how) {
  using number = scalar<std::int64_t>;
  const tensor_state& table = *x.state();
  const bool any_axis = table.sizes.rank() > 0;
  const std::int64_t size = any_axis ? table.sizes[how.axis] : 1, stride = any_axis ? table.strides[how.axis] : 1;
  if (size == 0 && count(how.domain) > 0) throw_index(0, 0);
  const auto spread_over = [&](const tensor_state& t, dims strides) {
    ref<tensor_state> made = new_state(t.type, how.domain, strides);
    made->data = t.data;
    made->memory = t.memory;
    return made;
  };
  dims strides = any_axis && how.domain.rank() > 0 ? table.strides : dims::filled(how.domain.rank(), 0);
  if (how.domain.rank() > 0) strides[how.axis] = 0;
  const ref<tensor_state> from = spread_over(table, strides);
  record_index<T, Device>(how, index_move::gather, *index.state(), table, nullptr, from);
  const auto at = converted<std::int64_t>(Tensor<I, Device>(spread_over(*index.state(), how.index_strides)));
  const node<checked_index_op, std::remove_const_t<decltype(at)>, number> checked{{}, at, {size}};
  const node<mul_op, std::remove_const_t<decltype(checked)>, number> way{{}, checked, {stride}};
  return node<take_op, std::remove_const_t<decltype(way)>, element_place<T, Device>>{
      {}, way, element_place<T, Device>(from)};
}

template <class T, class I, class Device>
Tensor<T, Device> gathered(const Tensor<T, Device>& x, const Tensor<I, Device>& index, const index_axes& how) {
  const ref<tensor_state> out = executor<Device>::new_tensor(dtype_of<T>, how.domain, *x.state()->memory);
  executor<Device>::check_operand(*index.state()->memory, *out->memory);
  indexer<Device>::template run<T>(job_of(how, index_move::gather, index.data(), *x.state(), *out, out->strides),
                                   *out->memory);
  record_index<T, Device>(how, index_move::gather, *index.state(), *x.state(), nullptr, out);
  return Tensor<T, Device>(out);
}

template <class T, class I, class Device>
Tensor<T, Device> scattered(index_move move, const Tensor<T, Device>& x, const Tensor<I, Device>& index,
                            const Tensor<T, Device>& values, const index_axes& how) {
  const ref<tensor_state> out = [&] {
    const no_grad quiet;
    return x.clone().state();
  }();
  executor<Device>::check_operand(*index.state()->memory, *out->memory);
  executor<Device>::check_operand(*values.state()->memory, *out->memory);
  indexer<Device>::template run<T>(job_of(how, move, index.data(), *out, *values.state(), values.strides()),
                                   *out->memory);
  record_index<T, Device>(how, move, *index.state(), *x.state(), values.state().get(), out);
  return Tensor<T, Device>(out);
}

/// The index stands still along all axes but one.
index_axes axes_of_select(const dims& sizes, const tensor_state& index, std::int64_t axis, const char* where);
/// An index for each position.
index_axes axes_of_gather(const dims& sizes, const tensor_state& index, std::int64_t axis, const char* where);

}  // namespace detail

/// The slices of x along an axis that a 1-D index names, in its order: torch.index_select, and the rows of an
/// embedding; an index without axes names one. Throws index_error for an index outside [0, size) (of a GPU when values
/// are read), shape_error for another rank.
template <Expression X, Expression Index>
auto index_select(const X& x, std::int64_t axis, const Index& index) {
  if constexpr (detail::any_transformed<X, Index>) {
    static_assert(detail::never<X, Index>,
                  "kiln: index_select has no meaning within vmap and jvp yet: take the elements before, or multiply by "
                  "one_hot(index, n)");
    return x;
  } else {
    detail::check_index_type<typename Index::value_type>();
    const auto table = detail::as_tensor(x);
    const auto at = detail::as_tensor(index);
    const detail::index_axes how = detail::axes_of_select(table.sizes(), *at.state(), axis, "index_select");
    if constexpr (executor<typename X::device_type>::on_host)
      return detail::gathered(table, at, how);
    else
      return detail::taken_by_index(table, at, how);
  }
}
/// The same of positions in a list: `index_select(x, 0, {2, 0})`.
template <Expression X>
auto index_select(const X& x, std::int64_t axis, std::initializer_list<std::int64_t> index) {
  const Tensor<std::int64_t> at(executor<Cpu>::new_tensor(dtype::int64, {index.size()}));
  std::copy(index.begin(), index.end(), at.data());
  if constexpr (detail::any_transformed<X>)
    return index_select(x, axis, at);
  else
    return index_select(x, axis, at.to(detail::as_tensor(x).device()));
}
/// result[i][j][k] = x[i][index[i][j][k]][k], for axis 1 of three: torch.gather. The result has the index's shape,
/// which along the other axes is no longer than x's. Throws index_error, shape_error.
template <Expression X, Expression Index>
auto gather(const X& x, std::int64_t axis, const Index& index) {
  if constexpr (detail::any_transformed<X, Index>) {
    static_assert(detail::never<X, Index>,
                  "kiln: gather has no meaning within vmap and jvp yet: take the elements before, or multiply by "
                  "one_hot(index, n)");
    return x;
  } else {
    detail::check_index_type<typename Index::value_type>();
    const auto table = detail::as_tensor(x);
    const auto at = detail::as_tensor(index);
    const detail::index_axes how = detail::axes_of_gather(table.sizes(), *at.state(), axis, "gather");
    if constexpr (executor<typename X::device_type>::on_host)
      return detail::gathered(table, at, how);
    else
      return detail::taken_by_index(table, at, how);
  }
}

namespace detail {
template <class X, class Index, class V>
auto scatter_with(index_move move, const X& x, std::int64_t axis, const Index& index, const V& values, bool select,
                  const char* where) {
  if constexpr (detail::any_transformed<X, Index, V>) {
    static_assert(detail::never<X, Index, V>,
                  "kiln: scatter, scatter_add and index_add have no meaning within vmap and jvp yet: multiply by "
                  "transpose(one_hot(index, n))");
    return x;
  } else {
    check_index_type<typename Index::value_type>();
    static_assert(std::is_same_v<typename X::value_type, typename V::value_type>,
                  "kiln: the values must have the tensor's element type: cast<T>() them");
    const auto table = as_tensor(x);
    const auto at = as_tensor(index);
    const auto from = as_tensor(values);
    const index_axes how = select ? axes_of_select(table.sizes(), *at.state(), axis, where)
                                  : axes_of_gather(table.sizes(), *at.state(), axis, where);
    bool fits = from.dim() == how.domain.rank();
    for (int i = 0; i < how.domain.rank() && fits; ++i)
      fits = select ? from.sizes()[i] == how.domain[i] : from.sizes()[i] >= how.domain[i];
    if (!fits)
      throw shape_error(message(where, ": values of shape ", from.sizes(), " do not cover ", how.domain,
                                ", the positions that the index names: ",
                                select ? "make the shapes equal" : "along no axis may they be shorter"));
    return scattered(move, table, at, from, how);
  }
}
}  // namespace detail

/// x with values[i][j][k] added at [i][index[i][j][k]][k]: torch.scatter_add. On a GPU the terms of one place are added
/// in their order, unless cuda::set_deterministic(false). Throws index_error, shape_error.
template <Expression X, Expression Index, Expression V>
auto scatter_add(const X& x, std::int64_t axis, const Index& index, const V& values) {
  return detail::scatter_with(index_move::scatter_add, x, axis, index, values, false, "scatter_add");
}
/// x with values[i][j][k] in the place of [i][index[i][j][k]][k]: torch.scatter. Where several go to one place, one of
/// them is there, and the gradient is that of each having got there. Throws index_error, shape_error.
template <Expression X, Expression Index, Expression V>
auto scatter(const X& x, std::int64_t axis, const Index& index, const V& values) {
  return detail::scatter_with(index_move::scatter, x, axis, index, values, false, "scatter");
}
/// The same with one number everywhere. Throws value_error for one that an integer type does not hold.
template <Expression X, Expression Index, Number V>
auto scatter(const X& x, std::int64_t axis, const Index& index, V value) {
  using T = typename X::value_type;
  const T number = detail::number_as<T>(value, "scatter");
  if constexpr (detail::any_transformed<X, Index>)
    return scatter(x, axis, index, x);
  else
    return scatter(x, axis, index, expand(Tensor<T>(number).to(detail::as_tensor(x).device()), shape_of(index)));
}
/// x with the slices of `values` along an axis added to those that a 1-D index names: torch.index_add. Throws
/// index_error, shape_error.
template <Expression X, Expression Index, Expression V>
auto index_add(const X& x, std::int64_t axis, const Index& index, const V& values) {
  return detail::scatter_with(index_move::scatter_add, x, axis, index, values, true, "index_add");
}

// ---- as members ----------------------------------------------------------------------------------------------------

template <class X>
template <class Index>
auto common_methods<X>::gather(std::int64_t axis, const Index& index) const {
  return kiln::gather(self(), axis, index);
}
template <class X>
template <class Index>
auto common_methods<X>::index_select(std::int64_t axis, const Index& index) const {
  return kiln::index_select(self(), axis, index);
}
template <class X>
auto common_methods<X>::index_select(std::int64_t axis, std::initializer_list<std::int64_t> index) const {
  return kiln::index_select(self(), axis, index);
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/indexing_impl.hpp>
#endif
