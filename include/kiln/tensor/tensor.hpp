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
#include <kiln/tensor/axis_index.hpp>
#include <kiln/tensor/compute.hpp>
#include <kiln/tensor/nested.hpp>
#include <kiln/tensor/other_names.hpp>
#include <kiln/tensor/refusals.hpp>
#include <kiln/tensor/view_metadata.hpp>

namespace kiln {

class gradient_hook_handle;
template <Element T, class Device>
class masked_elements;

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void no_value() {
  throw value_error("this Tensor has no value yet: assign one before using it");
}

/// Copies tensors of T, or adds them; null for elements without gradients.
template <Element T, class Device>
constexpr const runnable* adding_kernel();

/// Contiguous values copied to a device; themselves if they are there, or if both devices are the host. A device has
/// its transfers from and to Cpu; from and to others with the host's memory it is the same.
template <class From, class To>
ref<tensor_state> moved_to(const ref<tensor_state>& values, To where) {
  if constexpr (OnHost<From> && OnHost<To>) {
    return values;
  } else {
    if constexpr (std::same_as<From, To>)
      if (executor<From>::device_of(*values->memory) == where) return values;
    if constexpr (OnHost<From>)
      return transfer<Cpu, To>::copy(*values, where);
    else if constexpr (OnHost<To>)
      return transfer<From, Cpu>::copy(*values, Cpu{});
    else
      return transfer<From, To>::copy(*values, where);
  }
}
}  // namespace detail

template <Element T, class Device = Cpu, class Extents = dynamic_extents>
class Tensor : public common_methods<Tensor<T, Device, Extents>>,
               public detail::other_names<Tensor<T, Device, Extents>> {
  static_assert(std::same_as<Extents, dynamic_extents>,
                "kiln: only dynamic extents work in this version: leave the third parameter out");
  static_assert(HasExecutor<Device>, "kiln: this device needs its own header (kiln/cuda.hpp for Cuda)");
  static constexpr bool on_host = executor<Device>::on_host;

 public:
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = Device;

  /// A handle without a tensor; assign one before use.
  Tensor() = default;
  /// A 0-d tensor. Throws value_error for a number that an integer type does not hold.
  template <Number S>
  explicit Tensor(S value) : state_(executor<Device>::new_tensor(dtype_of<T>, {}, Device{})) {
    executor<Device>::fill(*state_, detail::number_as<T>(value, "Tensor"));
  }
  /// Not possible: a number becomes no tensor by itself. (A pack, so that it comes after the one above.)
  template <Number S, class... Nothing>
    requires(sizeof...(Nothing) == 0)
  Tensor(S, Nothing...) {
    static_assert(detail::never<S>,
                  "kiln: a number is no tensor: Tensor<float> x(3) is one of one element, full({2}, 3) one of many");
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

  /// Not possible: says what to write for a tensor of some sizes.
  template <std::integral... Sizes>
    requires(sizeof...(Sizes) > 1)
  Tensor(Sizes...) {
    static_assert(detail::never<Sizes...>,
                  "kiln: sizes make no tensor by themselves: write zeros<float>({3, 4}), "
                  "empty<float>({3, 4}), or in braces the elements, Tensor<float> r{3, 4}");
  }
  // A pack, because a constructor of a list alone would be chosen for {3, 4} too. (clang++ 14 chooses it for a nameless
  // Tensor<int>{3, 4} in a generic lambda, where it forgets that the braces were no list in parentheses: of
  // `struct s { s(std::initializer_list<any>); template <class T, class... N> s(std::initializer_list<T>, N...); }` it
  // takes the second for s{1, 2} there, and the first everywhere else. So not for bools, which are no sizes.)
  template <std::integral Size, class... Nothing>
    requires(!std::same_as<Size, bool>)
  Tensor(std::initializer_list<Size>, Nothing...) {
    static_assert(detail::never<Size>,
                  "kiln: ({3, 4}) may be sizes or elements: write zeros<float>({3, 4}) for a tensor "
                  "of these sizes, Tensor<float> r{3, 4} for one of these elements (in a generic lambda clang++ 14 "
                  "needs the name, r)");
  }
  template <detail::Values R>
  Tensor(const R&) {
    static_assert(detail::never<R>,
                  "kiln: a vector may hold sizes or elements: write tensor(values) for a copy of its "
                  "elements, zeros<float>(sizes) for a tensor of these sizes");
  }
  /// Not possible: says what to write for a tensor of another element type or device.
  template <Leaf E>
    requires(!std::same_as<E, Tensor>)
  Tensor(const E& e) : state_(as_own_type(e).state()) {}

  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  ~Tensor() = default;

  /// Runs the expression; this handle then refers to its result. Memory of kiln's own that nobody else can see is
  /// reused: should the kernel throw (integers divided by zero), it holds old and new values.
  template <Expression E>
    requires(!Leaf<E>)
  Tensor& operator=(const E& e) & {
    const bool own =
        state_.unique() && state_->memory.unique() && kiln::is_contiguous(*state_) && !state_->memory->foreign;
    detail::compute_at<true, false>(state_, own, as_own_type(e));
    return *this;
  }

  /// Not possible: says what to write to set every element.
  template <Number S>
  Tensor& operator=(S) & {
    static_assert(detail::never<S>,
                  "kiln: a number is no tensor: write a.fill_(3) to set every element, full({2}, 3) for "
                  "a new tensor of it");
    return *this;
  }

  /// `x[i] = ...`, `x.select(0, i) = ...`: what has no name is written in place, as copy_ does.
  Tensor operator=(const Tensor& values) && { return copy_(values); }
  template <class E>
    requires(Number<E> || (Expression<E> && !std::same_as<E, Tensor>))
  Tensor operator=(const E& values) && { return copy_(values); }

  /// In place: every handle that shares these elements sees the change. Throws shape_error if the result would not
  /// have this tensor's shape, graph_error on a leaf that requires grad if the change itself would need a gradient.
  template <class E>
  requires Operands<Tensor, E> Tensor& operator+=(const E& e) { return update(*this + e); }
  /// In place, as +=.
  template <class E>
  requires Operands<Tensor, E> Tensor& operator-=(const E& e) { return update(*this - e); }
  /// In place, as +=.
  template <class E>
  requires Operands<Tensor, E> Tensor& operator*=(const E& e) { return update(*this * e); }
  /// In place, as +=.
  template <class E>
  requires Operands<Tensor, E> Tensor& operator/=(const E& e) { return update(*this / e); }
  /// Writes the values of an expression of this shape, or one that broadcasts to it, into these elements. Throws
  /// shape_error for another shape, value_error for a number that an integer type does not hold.
  template <class E>
    requires(Expression<E> || Number<E>)
  Tensor& copy_(const E& e) {
    const auto values = detail::written_as<T>(e, "copy_");
    using V = std::remove_const_t<decltype(values)>;
    if constexpr (std::same_as<typename V::device_type, Device>) {
      // Mostly one kernel over the values alone. Where not, all of them come first.
      if (detail::compute_in_place(values, state(), true)) return *this;
      if constexpr (!Leaf<V>) return copy_(Tensor(values));
    }
    detail::expect_copyable(shape_of(values), sizes());
    return update(where(true, values, *this));
  }
  /// Sets every element. Throws value_error for a number that an integer type does not hold.
  template <Number V>
  Tensor& fill_(V value) {
    return copy_(detail::number_as<T>(value, "fill_"));
  }
  /// Sets every element to 0.
  Tensor& zero_() { return fill_(T(0)); }

  /// False for a handle without a tensor.
  bool defined() const { return static_cast<bool>(state_); }
  /// The size of each axis.
  const dims& sizes() const { return state()->sizes; }
  /// The same as sizes().
  const dims& shape() const { return state()->sizes; }
  /// How far apart neighbours lie along each axis, in elements.
  const dims& strides() const { return state()->strides; }
  /// Number of axes.
  int dim() const { return sizes().rank(); }
  /// Size along an axis; negative axes count from the end. Throws index_error.
  std::int64_t size(std::int64_t axis) const { return sizes()[normalize_axis(axis, dim(), "size")]; }
  /// Not possible: in PyTorch all sizes, in NumPy and in C++ the number of elements.
  template <class Never = void>
  detail::no_size size() const {
    static_assert(detail::never<Never>,
                  "kiln: size(axis) is the size along one axis, sizes() are all of them, numel() is the number of "
                  "elements");
    return {};
  }
  /// Number of elements.
  std::int64_t numel() const { return count(sizes()); }
  /// Whether the elements lie in row-major order without gaps.
  bool is_contiguous() const { return kiln::is_contiguous(*state()); }
  /// The same as is_contiguous().
  bool contiguous_layout() const { return is_contiguous(); }
  /// The element type as a value.
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
    return executor<Device>::template read<T>(*state());
  }
  /// The same as a number of another type: `x.item<double>()`.
  template <Number As>
  As item() const {
    return static_cast<As>(item());
  }
  /// One element, by one index per axis; negative ones count from the end. Of another device, a copy of it. Throws
  /// index_error.
  template <std::convertible_to<std::int64_t>... I>
  std::conditional_t<on_host, T&, T> operator()(I... index) const {
    static_assert(!(std::floating_point<I> || ...), "kiln: an index has no fraction: static_cast<int>() it");
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
      return executor<Device>::template read<T>(*state(), offset);
  }
  /// Not possible: says where ranges stand.
  template <class... I>
    requires(!(std::convertible_to<I, std::int64_t> && ...))
  Tensor operator()(const I&...) const {
    static_assert(detail::never<I...>,
                  "kiln: x(i, j) is one element, by whole numbers: ranges stand in brackets, x[{0, slice(1, 3)}], a "
                  "mask in x[mask]");
    return *this;
  }

  // Views of the same elements; defined and described in views.hpp.
  /// x[i] is select(0, i), x[{1, slice(2, 5)}] takes an index or a range of each axis from the first on. Assigned to,
  /// they are written in place: x[i] = y, x[i] += y, x[{slice(), 0}] = 5.0f.
  template <std::integral I>
  Tensor operator[](I index) const {
    return select(0, static_cast<std::int64_t>(index));
  }
  Tensor operator[](std::initializer_list<axis_index> indices) const;
  template <std::same_as<axis_range> R>
  Tensor operator[](const R& range) const {
    return (*this)[{axis_index(range)}];
  }
  /// The elements where a mask is true, and x[mask] = v writes there; masked_elements.hpp describes it.
  template <Expression M>
    requires std::is_same_v<typename M::value_type, bool> masked_elements<T, Device>
  operator[](const M& mask) const;
  /// Not possible: says what to write for elements chosen by index.
  template <Expression M>
  Tensor operator[](const M&) const {
    static_assert(detail::never<M>,
                  "kiln: for x[indices] write index_select(x, 0, indices), or gather(x, axis, indices)");
    return *this;
  }
  /// Not possible, either.
  template <class I>
    requires(!std::integral<I> && !Expression<I> && !std::same_as<I, axis_range>)
  Tensor operator[](const I&) const {
    static_assert(detail::never<I>,
                  "kiln: x[...] takes a whole number, slice(1, 3), {slice(), 0}, or a mask; for positions in a vector "
                  "write index_select(x, 0, tensor(positions))");
    return *this;
  }
  Tensor reshape(const dims& sizes) const;
  template <detail::SizeLike... I>
    requires(sizeof...(I) > 0)
  Tensor reshape(I... each)
  const { return reshape(dims{each...}); }
  Tensor view(const dims& sizes) const;
  template <detail::SizeLike... I>
    requires(sizeof...(I) > 0)
  Tensor view(I... each)
  const { return view(dims{each...}); }
  Tensor flatten(std::int64_t begin = 0, std::int64_t end = -1) const;
  Tensor transpose() const;
  Tensor transpose(std::int64_t a, std::int64_t b) const;
  Tensor t() const;
  Tensor permute(const dims& order) const;
  template <detail::SizeLike... I>
    requires(sizeof...(I) > 0)
  Tensor permute(I... each)
  const { return permute(dims{each...}); }
  Tensor squeeze() const;
  Tensor squeeze(std::int64_t axis) const;
  Tensor unsqueeze(std::int64_t axis) const;
  Tensor expand(const dims& sizes) const;
  template <detail::SizeLike... I>
    requires(sizeof...(I) > 0)
  Tensor expand(I... each)
  const { return expand(dims{each...}); }
  Tensor slice(std::int64_t axis, std::int64_t begin, std::int64_t end = std::numeric_limits<std::int64_t>::max(),
               std::int64_t step = 1) const;
  Tensor narrow(std::int64_t axis, std::int64_t begin, std::int64_t length) const;
  Tensor select(std::int64_t axis, std::int64_t index) const;

  // Defined and described in transfer.hpp.
  /// The values on a device, or as another element type: this tensor if it is that already, else a copy.
  template <class To>
  auto to(To where = {}) const;
  /// Where the elements lie.
  Device device() const { return executor<Device>::device_of(*state()->memory); }

  /// A copy with memory of its own, contiguous; gradients flow through it.
  Tensor clone() const { return Tensor(apply<clone_op>(*this)); }
  /// This tensor if it is contiguous, else a contiguous copy; gradients flow through it.
  Tensor contiguous() const { return is_contiguous() ? *this : clone(); }
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
    auto& autograd_metadata = state()->autograd_metadata;
    if (autograd_metadata && autograd_metadata->producer)
      throw graph_error("requires_grad: this tensor was computed from others that require grad: detach() it first");
    if (on && !autograd_metadata) {
      autograd_metadata = new_record(dtype_of<T>, sizes());
      autograd_metadata->leaf = true;
      autograd_metadata->owner = state_.get();
      autograd_metadata->add = detail::adding_kernel<T, Device>();
    } else if (!on) {
      autograd_metadata = nullptr;
    }
    state()->frozen = !on;
    return *this;
  }
  /// Whether gradients flow to or through this tensor.
  bool needs_grad() const { return static_cast<bool>(state()->autograd_metadata); }
  /// Whether backward() has left a gradient here.
  bool has_grad() const { return needs_grad() && state()->autograd_metadata->gradient; }
  /// The gradient that backward() left here. Throws graph_error if there is none.
  Tensor grad() const {
    if (!has_grad())
      throw graph_error(message(
          "grad: a tensor of shape ", sizes(),
          !needs_grad() ? " does not require grad: call requires_grad() before computing with it"
          : state()->autograd_metadata->producer
              ? " was computed from others (a = a - ... makes a new tensor), and gradients are kept where "
                "requires_grad() "
                "was called: change parameters in place, a -= 0.1f * a.grad(), or detach() and requires_grad() anew"
              : " has no gradient yet: call backward() on a loss computed from it"));
    const ref<tensor_state>& gradient = state()->autograd_metadata->gradient;
    auto& lent = gradient->memory->lent_gradient;
    if (!lent.load(std::memory_order_relaxed)) lent.store(true, std::memory_order_relaxed);
    return Tensor(gradient);
  }
  /// Calls f(gradient) in every backward pass, when this tensor's gradient is complete: for a tensor that was computed,
  /// before the pass goes on from there; for a leaf, before it is added to grad(), as soon as nothing more of the pass
  /// will be added to it. If f returns a tensor, that takes the gradient's place. Defined in autograd/hooks.hpp. Throws
  /// graph_error if the tensor does not require grad.
  template <class F>
  gradient_hook_handle on_gradient(F f) const;
  /// Forgets the gradient.
  void zero_grad() {
    if (needs_grad()) state()->autograd_metadata->gradient = nullptr;
  }

  /// For expressions, which call it on their own copies of a handle: the elements are wanted as they are now.
  void note_moment() noexcept {
    if (state_) wanted_ = moment(*state_->memory);
  }
  /// When the elements were as an expression wants them.
  const moment& wanted() const { return wanted_; }

  /// For code that works on any tensor: what the handle points to. Throws value_error if it has no tensor.
  const ref<tensor_state>& state() const {
    if (!state_) detail::no_value();
    if (state_->is_view) detail::follow_base(*state_);
    return state_;
  }
  explicit Tensor(ref<tensor_state> state) : state_(std::move(state)) {}

 private:
  // What is refused is handed on as a tensor of the right type, so that the sentence stands alone.
  template <class E>
  static decltype(auto) as_own_type(const E& e) {
    constexpr bool within = requires {
      typename E::device_type::below;
    };
    static_assert(!within,
                  "kiln: within vmap and jvp tensors have other types: declare them as `auto`, auto y = "
                  "(x * 2).eval(), and parameters as `const auto& x`");
    if constexpr (!within) {
      static_assert(detail::same_dtype<typename E::value_type, T>::checked);
      static_assert(detail::same_device<typename E::device_type, Device>::checked);
    }
    if constexpr (within || !std::is_same_v<typename E::device_type, Device>)
      return Tensor();
    else
      return (e);
  }
  template <class E>
  Tensor& update(const E& e) {
    using V = typename E::value_type;
    static_assert(detail::dtype_in_place<V, T>::checked);
    // What has the type already is not copied for it, with all of its tensors.
    if constexpr (std::is_same_v<V, T>)
      detail::compute_in_place(e, state());
    else
      detail::compute_in_place(cast<T>(e), state());
    return *this;
  }

  ref<tensor_state> state_;
  moment wanted_;
};

namespace detail {
/// What writes tensors as text: print.hpp defines it for expressions.
template <class X>
struct printer {
  static constexpr bool included = false;
};
}  // namespace detail

/// Writes to_string(x). An expression is evaluated.
template <Expression X>
std::ostream& operator<<(std::ostream& out, const X& x) {
  static_assert(detail::printer<X>::included, "kiln: to print tensors, #include <kiln/tensor/print.hpp>");
  if constexpr (detail::printer<X>::included) detail::printer<X>::put(out, x);
  return out;
}

/// The tensor that an expression becomes, or is: `Tensor c = a * b;`.
template <Expression E>
Tensor(const E&) -> Tensor<typename E::value_type, typename E::device_type>;
/// A 0-d tensor of the number's type.
template <Element S>
Tensor(S) -> Tensor<S>;
/// Elements of the default type, where none is named: `Tensor t;`.
Tensor()->Tensor<float>;
/// Leads to the sentence on sizes.
template <std::integral... Sizes>
  requires(sizeof...(Sizes) > 1)
Tensor(Sizes...)
->Tensor<float>;
/// Elements of the type in which they are written: `Tensor a{1.f, 2.f};` is a Tensor<float>.
template <Number S>
Tensor(std::initializer_list<S>) -> Tensor<S>;
template <Number A, Number B, Number... C>
  requires(std::floating_point<A> || std::floating_point<B> || (std::floating_point<C> || ...))
Tensor(A, B, C...)
->Tensor<std::common_type_t<A, B, C...>>;
template <Number S>
Tensor(std::initializer_list<std::initializer_list<S>>) -> Tensor<S>;
template <Number S>
Tensor(std::initializer_list<std::initializer_list<std::initializer_list<S>>>) -> Tensor<S>;

namespace detail {
// Copies a tensor of T, rounding only where it is stored: half types are added to as floats.
template <Element T>
struct adding_program {
  static constexpr const auto& tape = value_tape<Tensor<T>>;
  static constexpr bool reduction_rooted = false;
  static constexpr std::array<dtype, 1> stores{compute_type(dtype_of<T>)};
};
template <Element T, class Device>
constexpr const runnable* adding_kernel() {
  if constexpr (!is_floating(dtype_of<T>))
    return nullptr;
  else if constexpr (compute_type(dtype_of<T>) == dtype_of<T>)
    return &runnable_of<value_program<Tensor<T>>, Device>;
  else
    return &runnable_of<adding_program<T>, Device>;
}

/// The values of an expression that no gradient goes through; a tensor as it is. Unlike a Tensor made of it, it
/// compiles no gradient program.
template <Expression E>
auto untracked(const E& e) {
  if constexpr (Leaf<E>)
    return e;
  else if constexpr (requires { typename E::device_type::below; })  // within a transform
    return Tensor<typename E::value_type, typename E::device_type>(e).detach();
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

template <class E>
auto expression_methods<E>::eval() const {
  return Tensor<typename E::value_type, typename E::device_type>(this->self());
}
template <class E>
auto expression_methods<E>::item() const {
  return kiln::detach(this->self()).item();
}
template <class E>
template <std::convertible_to<std::int64_t>... I>
auto expression_methods<E>::operator()(I... index) const {
  const auto values = kiln::detach(this->self());
  return static_cast<typename E::value_type>(values(index...));
}
template <class E>
auto expression_methods<E>::detach() const {
  return kiln::detach(this->self());
}

}  // namespace kiln
