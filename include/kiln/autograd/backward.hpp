// SPDX-License-Identifier: BSL-1.0
// backward(loss): walks the nodes behind a tensor from the latest to the earliest; each adds to the gradients of what
// it was computed from. backward_impl.hpp holds the walk.
#pragma once

#include <concepts>

#include <kiln/autograd/node.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

/// What backward() may be told.
struct backward_options {
  bool retain_graph = false;  ///< keep what the pass read, so that another can follow
  /// Record the pass itself: gradients then have histories and can be differentiated, to any order. The graph is kept.
  /// A leaf's grad() then holds the graph that it came from, until zero_grad() or the end of the leaf; grad() of
  /// autograd/grad.hpp leaves nothing behind. See docs/derivatives.md.
  bool create_graph = false;
};

namespace detail {
/// backward() of a tensor without its type; `add` copies a tensor of its type, or adds it.
void run_backward(const tensor_state& of, ref<tensor_state> gradient, const runnable& add, backward_options options);
/// Gives a node several outputs. Only programs with such a node hold what a pass does with it.
void set_outputs(graph_node& node, int count);
/// Throws graph_error unless there is one element.
void check_loss(const tensor_state& loss);
/// The gradient of a loss by itself.
template <Element T, class Device>
ref<tensor_state> one_like(const Tensor<T, Device>& loss) {
  ref<tensor_state> one = executor<Device>::new_tensor(dtype_of<T>, loss.sizes(), *loss.state()->memory);
  executor<Device>::fill(*one, static_cast<T>(1.0f));
  return one;
}
/// The values of a gradient that a pass starts with; those of a recorded pass keep their history.
template <Expression G>
auto seed_values(const G& its_gradient, bool recorded) {
  using T = Tensor<typename G::value_type, typename G::device_type>;
  return recorded ? T(its_gradient).state() : T(untracked(its_gradient)).state();
}
}  // namespace detail

/// Adds to the grad() of every leaf that `of` was computed from, given the gradient of some loss by `of` (a tensor
/// or an expression), which has its shape. Frees what the pass has used unless told otherwise, also where it fails on
/// the way; gradients are then as they were. Throws what a hook throws, and graph_error if `of` depends on no tensor
/// that requires grad, if its graph was freed, or if a value that the pass needs was changed in place.
template <Element T, class Device, Expression G>
void backward(const Tensor<T, Device>& of, const G& its_gradient, backward_options options = {}) {
  static_assert(std::same_as<typename G::value_type, T>,
                "kiln: backward needs a gradient of the tensor's own element type: cast<T>() it");
  detail::run_backward(*of.state(), detail::seed_values(its_gradient, options.create_graph),
                       *detail::adding_kernel<T, Device>(), options);
}

/// backward() of a loss, which has one element. Throws graph_error for another number of elements.
template <Element T, class Device>
void backward(const Tensor<T, Device>& loss, backward_options options = {}) {
  constexpr bool within = requires {
    typename Device::below;
  };
  static_assert(!within,
                "kiln: backward has no meaning within vmap and jvp: the gradient of a function f there is grad(f)");
  if constexpr (!within) {
    detail::check_loss(*loss.state());
    detail::run_backward(*loss.state(), detail::one_like(loss), *detail::adding_kernel<T, Device>(), options);
  }
}

/// Evaluates the loss, then backward().
template <Expression E>
  requires(!Leaf<E>)
void backward(const E& loss, backward_options options = {}) {
  backward(Tensor<typename E::value_type, typename E::device_type>(loss), options);
}

/// Evaluates the expression, then backward() with its gradient.
template <Expression E, Expression G>
  requires(!Leaf<E>)
void backward(const E& of, const G& its_gradient, backward_options options = {}) {
  backward(Tensor<typename E::value_type, typename E::device_type>(of), its_gradient, options);
}

template <class Derived>
void common_methods<Derived>::backward() const {
  kiln::backward(self());
}
template <class Derived>
void common_methods<Derived>::backward(const backward_options& options) const {
  kiln::backward(self(), options);
}
template <class Derived>
template <class G>
  requires(!std::same_as<G, backward_options>)
void common_methods<Derived>::backward(const G& its_gradient) const {
  kiln::backward(self(), its_gradient);
}

}  // namespace kiln

#ifdef KILN_COMPILED  // in src/models.cpp
extern template kiln::ref<kiln::tensor_state> kiln::detail::one_like(const Tensor<float>&);
#else
#include <kiln/autograd/backward_impl.hpp>
#endif
