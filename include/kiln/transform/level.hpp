// SPDX-License-Identifier: BSL-1.0
// Tensors within a transform: `batched<Device>` has one axis more than the function sees, `dual<Device>` a tangent.
// Both stand where a tensor's device stands in its type, so that whatever makes tensors of expressions makes them too.
// They nest: the outermost belongs to the transform that runs innermost.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/expr/node.hpp>
#include <kiln/tensor/tensor.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

/// The device of tensors that vmap() gives to a function: tensors of `Device` whose first axis the function does not
/// see.
template <class Device>
struct batched {
  using below = Device;
};
/// The device of tensors that jvp() gives to a function: tensors of `Device`, each with its tangent.
template <class Device>
struct dual {
  using below = Device;
};

namespace detail {

template <class Device>
concept TransformDevice = requires {
  typename Device::below;
};
/// An expression within a transform.
template <class X>
concept TransformedExpression = Expression<X> && TransformDevice<typename std::remove_cvref_t<X>::device_type>;

/// A tensor, or an expression of tensors, within a transform or not: what functions of tensors are called with.
template <class X>
concept TensorInput = Expression<X> && !std::same_as<typename std::remove_cvref_t<X>::device_type, any_device>;

/// How many transforms a device is within.
template <class Device>
inline constexpr int depth_of = 0;
template <TransformDevice Device>
inline constexpr int depth_of<Device> = 1 + depth_of<typename Device::below>;

template <class Device>
struct below_of : std::type_identity<Device> {};
template <TransformDevice Device>
struct below_of<Device> : std::type_identity<typename Device::below> {};

/// Whether `Device` is `Inner` within further transforms.
template <class Device, class Inner>
inline constexpr bool is_within = std::same_as<Device, Inner>;
template <TransformDevice Device, class Inner>
inline constexpr bool is_within<Device, Inner> =
    std::same_as<Device, Inner> || is_within<typename Device::below, Inner>;

template <class A, class B>
  requires(TransformDevice<A> || TransformDevice<B>)
struct common_device<A, B> {
  using deeper = std::conditional_t<(depth_of<A> >= depth_of<B>), A, B>;
  using other = std::conditional_t<(depth_of<A> >= depth_of<B>), B, A>;
  static_assert(
      std::same_as<other, any_device> || is_within<deeper, other>,
      "kiln: a function within a transform uses a value of another transform around it: give it that value as "
      "an argument (vmap: with `unmapped` for its axis)");
  using type = deeper;
};

template <class X>
struct device_of_argument : std::type_identity<any_device> {};
template <Expression X>
struct device_of_argument<X> : std::type_identity<typename X::device_type> {};
/// The device on which all tensors among the arguments can meet.
template <class... X>
struct joint_device : std::type_identity<any_device> {};
template <class X, class... Rest>
struct joint_device<X, Rest...>
    : common_device<typename device_of_argument<X>::type, typename joint_device<Rest...>::type> {};

/// A transform that is running on this thread.
struct running_transform {
  std::uint64_t id = 0;
  std::int64_t batch = 0;  ///< of vmap: the size of the hidden axis
};
inline std::vector<running_transform>& running_transforms() {
  static thread_local std::vector<running_transform> all;
  return all;
}
/// A transform runs as long as this lives.
class transform_scope {
 public:
  explicit transform_scope(std::int64_t batch) {
    static thread_local std::uint64_t next = 0;
    running_transforms().push_back({++next, batch});
  }
  transform_scope(const transform_scope&) = delete;
  transform_scope& operator=(const transform_scope&) = delete;
  ~transform_scope() { running_transforms().pop_back(); }
  static std::uint64_t id() { return running_transforms().back().id; }
};
/// Of the transforms that run, the one that `Part` stands for within the whole `Device`.
template <class Device, class Part>
const running_transform& transform_of() {
  const auto& all = running_transforms();
  const std::size_t back = static_cast<std::size_t>(depth_of<Device> - depth_of<Part>) + 1;
  if (all.size() < back)
    throw value_error("a value of vmap or jvp was used after they ended: return it from the function instead");
  return all[all.size() - back];
}

/// Two values meet in an expression: they must be of one transform.
inline std::uint64_t same_transform(std::uint64_t a, std::uint64_t b) {
  if (a && b && a != b)
    throw value_error(
        "a function within vmap or jvp uses a value of another vmap or jvp around it: give it that value as an "
        "argument "
        "(vmap: with `unmapped` for its axis)");
  return a ? a : b;
}

/// A tensor as an operand of an expression that is made now.
template <class X>
X operand(X x) {
  note_moment(x);
  return x;
}

/// Makes a tensor of the device below one of `Device`.
template <class Device>
struct lift;

/// A tensor as one within more transforms, in which it is the same for all members of a batch and does not change.
/// `Device` is what it shall be on, a part of `Whole`.
template <class Device, class Whole, class X>
auto lifted(const X& x) {
  if constexpr (std::same_as<typename X::device_type, Device>)
    return x;
  else
    return lift<Device>::template apply<Whole>(lifted<typename Device::below, Whole>(x));
}

/// The part of Tensor's interface that is made of functions.
template <class Self>
class transformed_tensor : public common_methods<Self> {
  using common_methods<Self>::self;

 public:
  int dim() const { return self().sizes().rank(); }
  dims shape() const { return self().sizes(); }
  std::int64_t size(std::int64_t axis) const { return self().sizes()[normalize_axis(axis, dim(), "size")]; }
  std::int64_t numel() const { return count(self().sizes()); }
  Self reshape(const dims& sizes) const { return kiln::reshape(self(), sizes); }
  template <SizeLike... I>
    requires(sizeof...(I) > 0)
  Self reshape(I... each)
  const { return reshape(dims{each...}); }
  Self view(const dims& sizes) const { return kiln::reshape(self(), sizes); }
  template <SizeLike... I>
    requires(sizeof...(I) > 0)
  Self view(I... each)
  const { return view(dims{each...}); }
  Self flatten(std::int64_t begin = 0, std::int64_t end = -1) const { return kiln::flatten(self(), begin, end); }
  Self transpose() const { return kiln::transpose(self()); }
  Self transpose(std::int64_t a, std::int64_t b) const { return kiln::transpose(self(), a, b); }
  Self t() const { return kiln::t(self()); }
  Self permute(const dims& order) const { return kiln::permute(self(), order); }
  template <SizeLike... I>
    requires(sizeof...(I) > 0)
  Self permute(I... each)
  const { return permute(dims{each...}); }
  Self squeeze() const { return kiln::squeeze(self()); }
  Self squeeze(std::int64_t axis) const { return kiln::squeeze(self(), axis); }
  Self unsqueeze(std::int64_t axis) const { return kiln::unsqueeze(self(), axis); }
  Self expand(const dims& sizes) const { return kiln::expand(self(), sizes); }
  template <SizeLike... I>
    requires(sizeof...(I) > 0)
  Self expand(I... each)
  const { return expand(dims{each...}); }
  Self slice(std::int64_t axis, std::int64_t begin, std::int64_t end = to_end, std::int64_t step = 1) const {
    return kiln::slice(self(), axis, begin, end, step);
  }
  Self narrow(std::int64_t axis, std::int64_t begin, std::int64_t length) const {
    return kiln::narrow(self(), axis, begin, length);
  }
  Self select(std::int64_t axis, std::int64_t index) const { return kiln::select(self(), axis, index); }
  /// x[i] is select(0, i), x[{1, slice(2, 5)}] takes an index or a range of each axis from the first on.
  template <std::integral I>
  Self operator[](I index) const {
    return select(0, static_cast<std::int64_t>(index));
  }
  template <std::same_as<axis_range> R>
  Self operator[](const R& range) const {
    return (*this)[{axis_index(range)}];
  }
  Self operator[](std::initializer_list<axis_index> indices) const {
    if (indices.size() > static_cast<std::size_t>(dim())) throw index_error(too_many_indices(indices.size(), shape()));
    Self part = self();
    std::int64_t axis = 0;
    for (const auto& [range, is_range] : indices)
      part = is_range ? part.slice(axis++, range.begin, range.end, range.step) : part.select(axis, range.begin);
    return part;
  }
  /// Not possible: how many elements a mask takes is known of no member of a batch.
  template <Expression M>
  Self operator[](const M&) const {
    static_assert(never<M>,
                  "kiln: x[mask] and x[indices] have no meaning within vmap and jvp: choose with where(mask, x, 0), or "
                  "take the elements before");
    return self();
  }
  /// One element of each member, by one index per axis: x[{i, j}]. Throws index_error.
  template <std::integral... I>
  Self operator()(I... index) const {
    if (static_cast<int>(sizeof...(I)) != dim())
      throw index_error(
          message("element: ", sizeof...(I), " indices for a tensor of shape ", shape(), ": give one per axis"));
    return (*this)[{axis_index(index)...}];
  }
  const Self& eval() const { return self(); }
  /// As another element type: cast<T>(x), evaluated.
  template <class To>
  auto to(To = {}) const {
    static_assert(Element<To> || std::same_as<To, decltype(self().device())>,
                  "kiln: nothing moves to another device within vmap and jvp: move it before, or after");
    if constexpr (Element<To>)
      return kiln::cast<To>(self()).eval();
    else
      return self();
  }

  /// Not possible: says what to write.
  template <class Answer = void>
  auto item() const {
    static_assert(
        !std::is_void_v<Answer>,
        "kiln: within vmap, jvp and what is made of them a value is not one number that can be looked at: where "
        "the function branches on it, write where(condition, a, b)");
    return 0.0;
  }
  template <class Answer = void>
  explicit operator bool() const {
    item<Answer>();
    return false;
  }

  /// Not possible: a member of a batch has no memory of its own.
  template <class Never = void>
  auto span() const {
    static_assert(never<Never>,
                  "kiln: within vmap and jvp a tensor has no memory of its own: x[i] and x(i, j) are its elements");
    return std::span<typename Self::value_type>();
  }
  /// Not possible, as span().
  template <class Never = void>
  auto data() const {
    return span<Never>().data();
  }
  /// Not possible: gradients within transforms are functions.
  template <class Never = void>
  const Self& requires_grad(bool = true) const {
    static_assert(never<Never>,
                  "kiln: requires_grad has no meaning within vmap and jvp: the gradient of a function f there is "
                  "grad(f)");
    return self();
  }

  /// Not possible: a value within a transform may share its memory with the tensor outside, which must not change.
  template <class E>
  Self& operator+=(const E&) {
    return in_place<E>();
  }
  /// Not possible, as +=.
  template <class E>
  Self& operator-=(const E&) {
    return in_place<E>();
  }
  /// Not possible, as +=.
  template <class E>
  Self& operator*=(const E&) {
    return in_place<E>();
  }
  /// Not possible, as +=.
  template <class E>
  Self& operator/=(const E&) {
    return in_place<E>();
  }
  /// Not possible, as +=.
  template <class E>
  Self& copy_(const E&) {
    return in_place<E>();
  }
  /// Not possible, as +=.
  template <class E>
  Self& fill_(const E&) {
    return in_place<E>();
  }

 protected:
  template <class E>
  Self& in_place() {
    static_assert(never<E>,
                  "kiln: nothing is written in place within vmap and jvp: name the new values, x = x + 1, or choose "
                  "them with where(condition, a, b)");
    return static_cast<Self&>(*this);
  }
};

}  // namespace detail

}  // namespace kiln
