// SPDX-License-Identifier: BSL-1.0
// Tensor<T, Device, Extents>: a cheap handle to elements in memory. Copies share; clone() copies. It is a leaf of
// expressions and what they become: constructing or assigning from an expression runs it as one kernel.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include <kiln/core/extents.hpp>
#include <kiln/tensor/compute.hpp>
#include <kiln/tensor/nested.hpp>

namespace kiln {

namespace detail {
/// Contiguous values copied to a device; themselves if they are there.
template <class From, class To>
ref<tensor_state> moved_to(const ref<tensor_state>& values, To where) {
  if constexpr (std::same_as<From, To>)
    if (executor<From>::on_host || executor<From>::device_of(*values->memory) == where) return values;
  if constexpr (!std::same_as<From, To> || !executor<From>::on_host) return transfer<From, To>::copy(*values, where);
}
}  // namespace detail

template <Element T, class Device = Cpu, class Extents = dynamic>
class Tensor {
  static_assert(std::same_as<Extents, dynamic>,
                "kiln: only dynamic extents work in this version: leave the third parameter out");
  static_assert(detail::HasExecutor<Device>, "kiln: this device needs its own header (kiln/cuda.hpp for Cuda)");
  static constexpr bool on_host = detail::executor<Device>::on_host;

 public:
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = Device;

  /// A handle without a tensor; assign one before use.
  Tensor() = default;
  /// A 0-d tensor.
  explicit Tensor(T value) : state_(detail::executor<Device>::new_tensor(dtype_of<T>, {}, Device{})) {
    detail::executor<Device>::fill(*state_, value);
  }
  /// From nested lists: `Tensor<float> a{{1, 2}, {3, 4}}`. Throws shape_error if the lists differ in length.
  Tensor(std::initializer_list<nested_list<T>> parts) {
    const nested_list<T> list(parts);
    ref<tensor_state> values = new_tensor(dtype_of<T>, list.sizes);
    std::copy(list.values.begin(), list.values.end(), static_cast<T*>(values->data));
    state_ = detail::moved_to<Cpu>(values, Device{});
  }
  /// Runs the expression. Throws shape_error where operands do not fit, memory_error.
  template <Expression E>
    requires(!Leaf<E>)
  Tensor(const E& e) : state_(detail::compute(as_own_type(e))) {}

  /// Not possible: says what to write for a tensor of another element type or device.
  template <Leaf E>
    requires(!std::same_as<E, Tensor>)
  Tensor(const E& e) : state_(as_own_type(e).state()) {}

  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  ~Tensor() = default;

  /// Runs the expression; this handle then refers to its result. Memory that nobody else can see is reused.
  template <Expression E>
    requires(!Leaf<E>)
  Tensor& operator=(const E& e) {
    if (state_.unique() && state_->memory.unique() && is_contiguous(*state_)) {
      state_ = detail::compute(as_own_type(e), state_);
    } else {
      state_ = detail::compute(as_own_type(e));
    }
    return *this;
  }

  /// In place: every handle that shares these elements sees the change. Throws shape_error if the result would not
  /// have this tensor's shape, graph_error on a leaf that requires grad if the change itself would need a gradient.
  template <class E>
  requires Operands<Tensor, E> Tensor& operator+=(const E& e) { return update(*this + e); }
  template <class E>
  requires Operands<Tensor, E> Tensor& operator-=(const E& e) { return update(*this - e); }
  template <class E>
  requires Operands<Tensor, E> Tensor& operator*=(const E& e) { return update(*this * e); }
  template <class E>
  requires Operands<Tensor, E> Tensor& operator/=(const E& e) { return update(*this / e); }
  /// Writes the values of an expression of this shape, or one that broadcasts to it, into these elements.
  template <class E>
    requires(Expression<E> || Number<E>)
  Tensor& copy_(const E& e) { return update(where(true, detail::converted<T>(e), *this)); }
  /// Sets every element.
  Tensor& fill_(T value) { return copy_(value); }
  Tensor& zero_() { return fill_(T(0)); }

  /// False for a handle without a tensor.
  bool defined() const { return static_cast<bool>(state_); }
  const dims& sizes() const { return state()->sizes; }
  const dims& shape() const { return state()->sizes; }
  const dims& strides() const { return state()->strides; }
  /// Number of axes.
  int dim() const { return sizes().rank(); }
  /// Size along an axis; negative axes count from the end. Throws index_error.
  std::int64_t size(std::int64_t axis) const { return sizes()[normalize_axis(axis, dim(), "size")]; }
  /// Number of elements.
  std::int64_t numel() const { return count(sizes()); }
  bool contiguous_layout() const { return is_contiguous(*state()); }
  static constexpr kiln::dtype dtype() { return dtype_of<T>; }

  /// The first element; the others lie at multiples of strides(). Writing through it is not tracked. On a device other
  /// than Cpu it is an address of that device's memory.
  T* data() const { return static_cast<T*>(state()->data); }
  /// The elements of a contiguous tensor. Throws shape_error for another layout.
  std::span<T> span() const {
    static_assert(on_host, "kiln: span() reads the host's memory: move the tensor there with .to<Cpu>()");
    if (!contiguous_layout())
      throw shape_error(message("span: a tensor of shape ", sizes(), " with strides ", strides(),
                                " is not contiguous: clone() it first"));
    return {data(), static_cast<std::size_t>(numel())};
  }
  /// The value of a tensor with one element; of another device, after all its work so far. Throws shape_error for
  /// another number of elements.
  T item() const {
    if (numel() != 1)
      throw shape_error(message("item: a tensor of shape ", sizes(), " has ", numel(),
                                " elements, not one: reduce or index it first"));
    return detail::executor<Device>::template read<T>(*state());
  }
  /// One element, by one index per axis; negative ones count from the end. Of another device, a copy of it. Throws
  /// index_error.
  template <std::convertible_to<std::int64_t>... I>
  std::conditional_t<on_host, T&, T> operator()(I... index) const {
    const std::array<std::int64_t, sizeof...(I)> at{static_cast<std::int64_t>(index)...};
    if (static_cast<int>(sizeof...(I)) != dim())
      throw index_error(
          message("element: ", sizeof...(I), " indices for a tensor of shape ", sizes(), ": give one per axis"));
    std::int64_t offset = 0;
    for (int i = 0; i < dim(); ++i) {
      const std::int64_t n = sizes()[i], k = at[static_cast<std::size_t>(i)];
      if (k < -n || k >= n)
        throw index_error(
            message("element: index ", k, " is outside [", -n, ", ", n - 1, "] of axis ", i, " of shape ", sizes()));
      offset += (k < 0 ? k + n : k) * strides()[i];
    }
    if constexpr (on_host)
      return data()[offset];
    else
      return detail::executor<Device>::template read<T>(*state(), offset);
  }

  // Views of the same elements; defined and described in views.hpp.
  Tensor reshape(const dims& sizes) const;
  Tensor view(const dims& sizes) const;
  Tensor flatten(std::int64_t begin = 0, std::int64_t end = -1) const;
  Tensor transpose(std::int64_t a, std::int64_t b) const;
  Tensor t() const;
  Tensor permute(const dims& order) const;
  Tensor squeeze() const;
  Tensor squeeze(std::int64_t axis) const;
  Tensor unsqueeze(std::int64_t axis) const;
  Tensor expand(const dims& sizes) const;
  Tensor slice(std::int64_t axis, std::int64_t begin, std::int64_t end = std::numeric_limits<std::int64_t>::max(),
               std::int64_t step = 1) const;
  Tensor narrow(std::int64_t axis, std::int64_t begin, std::int64_t length) const;
  Tensor select(std::int64_t axis, std::int64_t index) const;

  // Defined and described in transfer.hpp.
  template <class To>
  Tensor<T, To> to(To where = {}) const;
  Device device() const { return detail::executor<Device>::device_of(*state()->memory); }

  /// A copy with memory of its own, contiguous; gradients flow through it.
  Tensor clone() const { return Tensor(apply<clone_op>(*this)); }
  /// The same elements without their gradient history.
  Tensor detach() const {
    auto view = new_state(state()->type, sizes(), strides());
    view->data = state_->data;
    view->memory = state_->memory;
    return Tensor(std::move(view));
  }
  /// This tensor: what an expression's eval() gives.
  const Tensor& eval() const { return *this; }

  /// Asks for a gradient: after backward() of something computed from this tensor, grad() holds it.
  /// Throws dtype_error for a type without derivatives, graph_error for a tensor that was itself computed from one.
  Tensor& requires_grad(bool on = true) {
    static_assert(is_floating(dtype_of<T>), "kiln: only tensors of a floating type have gradients");
    auto& history = state()->history;
    if (history && history->producer)
      throw graph_error("requires_grad: this tensor was computed from others that require grad: detach() it first");
    if (on && !history) {
      history = new_record(dtype_of<T>, sizes());
      history->leaf = true;
    } else if (!on) {
      history = nullptr;
    }
    return *this;
  }
  /// Whether gradients flow to or through this tensor.
  bool needs_grad() const { return static_cast<bool>(state()->history); }
  bool has_grad() const { return needs_grad() && state()->history->gradient; }
  /// The gradient that backward() left here. Throws graph_error if there is none.
  Tensor grad() const {
    if (!has_grad())
      throw graph_error(message("grad: a tensor of shape ", sizes(),
                                needs_grad()
                                    ? " has no gradient yet: call backward() on a loss computed from it"
                                    : " does not require grad: call requires_grad() before computing with it"));
    state()->history->gradient->memory->lent_gradient = true;
    return Tensor(state()->history->gradient);
  }
  /// Forgets the gradient.
  void zero_grad() {
    if (needs_grad()) state()->history->gradient = nullptr;
  }

  /// For code that works on any tensor: what the handle points to. Throws value_error if it has no tensor.
  const ref<tensor_state>& state() const {
    if (!state_) throw value_error("this Tensor has no value yet: assign one before using it");
    return state_;
  }
  explicit Tensor(ref<tensor_state> state) : state_(std::move(state)) {}

 private:
  template <class E>
  static const E& as_own_type(const E& e) {
    static_assert(
        std::same_as<typename E::value_type, T>,
        "kiln: the expression has another element type than the tensor it goes to: write cast<T>(...) around it");
    static_assert(std::same_as<typename E::device_type, Device>,
                  "kiln: the expression lives on another device: use .to<Device>()");
    return e;
  }
  template <class E>
  Tensor& update(const E& e) {
    using V = typename E::value_type;
    static_assert(
        detail::category<V> <= detail::category<T> || std::same_as<V, T>,
        "kiln: an in-place operation cannot store its result's element type here: use a = cast<T>(...) instead");
    detail::compute_in_place(cast<T>(e), state());
    return *this;
  }

  ref<tensor_state> state_;
};

namespace detail {
/// The values of an expression that no gradient goes through; a tensor as it is. Unlike a Tensor made of it, it
/// compiles no gradient program.
template <Expression E>
auto untracked(const E& e) {
  if constexpr (Leaf<E>)
    return e;
  else
    return Tensor<typename E::value_type, typename E::device_type>(compute<false>(e));
}
}  // namespace detail

/// The values of an expression without a gradient history, or the same elements of a tensor without its own: what
/// torch's detach() gives. Where it is known that no gradient is wanted, this also spares the compiler the gradient
/// program of the expression, about half of what the expression costs to compile.
template <Expression E>
auto detach(const E& e) {
  if constexpr (Leaf<E>)
    return e.detach();
  else
    return detail::untracked(e);
}

}  // namespace kiln
