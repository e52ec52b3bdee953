// SPDX-License-Identifier: BSL-1.0
// grad(y, inputs): gradients as values, torch.autograd.grad. Nothing is added to anybody's grad(), and only what leads
// to the inputs is walked through. grad_impl.hpp holds the walk.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <tuple>
#include <utility>
#include <vector>

#include <kiln/autograd/backward.hpp>

namespace kiln {

/// What grad() may be told.
struct grad_options {
  bool retain_graph = false;  ///< keep what the pass read, so that another can follow
  /// Record the pass itself, so that the gradients can be differentiated, to any order. The graph is kept.
  bool create_graph = false;
  bool allow_unused = false;  ///< zeros for an input that nothing was computed from, in place of an error
};

namespace detail {
/// An input, and the functions of its device.
struct grad_input {
  ref<tensor_state> tensor;
  const device_functions* device;
};
/// The gradients of the inputs, in their order, given that of a tensor.
std::vector<ref<tensor_state>> run_grad(const tensor_state& of, const ref<tensor_state>& gradient, const runnable& add,
                                        const std::vector<grad_input>& inputs, const grad_options& options);
template <class T, class Device>
grad_input grad_input_of(const Tensor<T, Device>& x) {
  static_assert(is_floating(dtype_of<T>), "kiln: only tensors of a floating type have gradients");
  return {x.state(), &functions_of<Device>};
}
template <class X, class T, class Device, class G>
std::vector<X> grad_of(const Tensor<T, Device>& y, const X* first, std::size_t n, const G& its_gradient,
                       const grad_options& options) {
  static_assert(std::same_as<typename G::value_type, T>,
                "kiln: grad needs a gradient of the tensor's own element type: cast<T>() it");
  std::vector<grad_input> inputs;
  for (std::size_t i = 0; i < n; ++i) inputs.push_back(grad_input_of(first[i]));
  std::vector<X> out;
  for (auto& g : run_grad(*y.state(), seed_values(its_gradient, options.create_graph), *adding_kernel<T, Device>(),
                          inputs, options))
    out.emplace_back(std::move(g));
  return out;
}
}  // namespace detail

/// The gradients of y by the inputs, tensors of one type that y was computed from, be they leaves or not; given the
/// gradient of some loss by y, of y's shape. Throws graph_error if an input does not require grad, if y does not depend
/// on one (but see allow_unused), if the graph was freed, or if a value that the pass needs was changed in place.
template <Element T, class Device, Element X, Expression G>
std::vector<Tensor<X, Device>> grad(const Tensor<T, Device>& y, std::initializer_list<Tensor<X, Device>> inputs,
                                    const G& its_gradient, const grad_options& options = {}) {
  return detail::grad_of(y, inputs.begin(), inputs.size(), its_gradient, options);
}
template <Element T, class Device, Element X, Expression G>
std::vector<Tensor<X, Device>> grad(const Tensor<T, Device>& y, const std::vector<Tensor<X, Device>>& inputs,
                                    const G& its_gradient, const grad_options& options = {}) {
  return detail::grad_of(y, inputs.data(), inputs.size(), its_gradient, options);
}
/// The same of one input.
template <Element T, class Device, Element X, Expression G>
Tensor<X, Device> grad(const Tensor<T, Device>& y, const Tensor<X, Device>& input, const G& its_gradient,
                       const grad_options& options = {}) {
  return detail::grad_of(y, &input, 1, its_gradient, options)[0];
}
/// The same of inputs whose types differ: a tuple of gradients.
template <Element T, class Device, class... X, Expression G>
std::tuple<std::remove_cvref_t<X>...> grad(const Tensor<T, Device>& y, const std::tuple<X...>& inputs,
                                           const G& its_gradient, const grad_options& options = {}) {
  static_assert(std::same_as<typename G::value_type, T>,
                "kiln: grad needs a gradient of the tensor's own element type: cast<T>() it");
  const std::vector<detail::grad_input> all =
      std::apply([](const auto&... x) { return std::vector<detail::grad_input>{detail::grad_input_of(x)...}; }, inputs);
  auto made = detail::run_grad(*y.state(), detail::seed_values(its_gradient, options.create_graph),
                               *detail::adding_kernel<T, Device>(), all, options);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<std::remove_cvref_t<X>...>{std::remove_cvref_t<X>(std::move(made[I]))...};
  }
  (std::index_sequence_for<X...>{});
}

/// The gradients of a loss, which has one element. Throws graph_error for another number of elements.
template <Element T, class Device, class Inputs>
auto grad(const Tensor<T, Device>& loss, const Inputs& inputs, const grad_options& options = {}) {
  detail::check_loss(*loss.state());
  return grad(loss, inputs, Tensor<T, Device>(detail::one_like(loss)), options);
}
template <Element T, class Device, Element X>
auto grad(const Tensor<T, Device>& loss, std::initializer_list<Tensor<X, Device>> inputs,
          const grad_options& options = {}) {
  detail::check_loss(*loss.state());
  return grad(loss, inputs, Tensor<T, Device>(detail::one_like(loss)), options);
}

/// Evaluates the loss first.
template <Expression E, class Inputs>
  requires(!Leaf<E>)
auto grad(const E& loss, const Inputs& inputs, const grad_options& options = {}) {
  return grad(Tensor<typename E::value_type, typename E::device_type>(loss), inputs, options);
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/autograd/grad_impl.hpp>
#endif
