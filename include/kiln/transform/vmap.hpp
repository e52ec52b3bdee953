// SPDX-License-Identifier: BSL-1.0
// vmap(f): a function of single members as a function of batches of them. f runs once, on tensors with a hidden batch
// axis; there is no loop.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/transform/batched.hpp>

namespace kiln {

/// As an axis of vmap: the argument has no batch axis, and is the same for all members.
struct unmapped_t {};
inline constexpr unmapped_t unmapped{};

namespace detail {

template <class Axes>
inline constexpr bool is_axis_list = false;
template <class... A>
inline constexpr bool is_axis_list<std::tuple<A...>> = true;

/// Axis i of a list, or the one axis that holds for all.
template <std::size_t I, class Axes>
constexpr auto axis_at(const Axes& axes) {
  if constexpr (is_axis_list<Axes>) {
    static_assert(I < std::tuple_size_v<Axes>, "kiln: vmap needs one axis, or `unmapped`, for each argument");
    return std::get<I>(axes);
  } else {
    return axes;
  }
}

/// The size of the batch as the arguments have it, found one by one.
class batch_size {
 public:
  void see(int argument, const dims& sizes, std::int64_t axis) {
    if (sizes.rank() == 0)
      throw shape_error(
          message("vmap: argument ", argument, " is 0-d and has no axis to map over: give `unmapped` for it"));
    const int i = normalize_axis(axis, sizes.rank(), "vmap");
    if (size_ >= 0 && sizes[i] != size_)
      throw shape_error(message("vmap: argument ", argument, " of shape ", sizes, " has ", sizes[i],
                                " members along axis ", axis, ", but argument ", first_, " has ", size_));
    if (size_ < 0) size_ = sizes[i], first_ = argument;
  }
  std::int64_t size() const {
    if (size_ < 0) throw value_error("vmap: no argument is mapped: give at least one an axis");
    return size_;
  }

 private:
  std::int64_t size_ = -1;
  int first_ = 0;
};

template <class Device, class X, class Axis>
auto member_of(const X& x, const Axis& axis) {
  if constexpr (!Expression<X>) {
    return x;
  } else {
    const auto tensor = as_tensor(x);
    if constexpr (std::same_as<Axis, unmapped_t>)
      return tensor;
    else
      return Tensor<typename X::value_type, batched<Device>>(movedim(lifted<Device, batched<Device>>(tensor), axis, 0),
                                                             transform_scope::id());
  }
}

template <class Device, class R, class Axis>
auto batch_of(const R& result, std::int64_t batch, const Axis& axis) {
  static_assert(!std::same_as<Axis, unmapped_t>, "kiln: what vmap returns has a batch axis: give its place");
  if constexpr (Number<R>) {
    return batch_of<Device>(lifted<Device, batched<Device>>(Tensor<R>(result)), batch, axis);
  } else {
    static_assert(is_within<batched<Device>, typename R::device_type>,
                  "kiln: a function within vmap uses a value of another transform around it: give it that value as an "
                  "argument, with `unmapped` for its axis");
    const auto y = as_tensor(result);
    if constexpr (std::same_as<typename R::device_type, batched<Device>>) {
      return movedim(y.all(), 0, axis);
    } else {  // the same for all members
      const auto one = lifted<Device, batched<Device>>(y);
      dims sizes = one.sizes();
      sizes.insert(0, batch);
      return movedim(expand(unsqueeze(one, 0), sizes), 0, axis);
    }
  }
}
template <class Device, class Axis, class... R>
auto batches_of(const std::tuple<R...>& results, std::int64_t batch, const Axis& axes) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple{batch_of<Device>(std::get<I>(results), batch, axis_at<I>(axes))...};
  }
  (std::index_sequence_for<R...>{});
}
template <class Device, class Axis, class A, class B>
auto batches_of(const std::pair<A, B>& results, std::int64_t batch, const Axis& axes) {
  return std::pair{batch_of<Device>(results.first, batch, axis_at<0>(axes)),
                   batch_of<Device>(results.second, batch, axis_at<1>(axes))};
}
template <class Device, class Axis, class R>
auto batches_of(const R& result, std::int64_t batch, const Axis& axis) {
  return batch_of<Device>(result, batch, axis);
}

template <class Axis>
void see_axis(batch_size& batch, int argument, const auto& x, const Axis& axis) {
  using X = std::remove_cvref_t<decltype(x)>;
  if constexpr (Expression<X> && !std::same_as<Axis, unmapped_t>) batch.see(argument, shape_of(x), axis);
}

}  // namespace detail

/// What vmap(f) returns: call it with f's arguments, in batches.
template <class F, class In, class Out>
struct mapped_function {
  F f;
  In in_axes;
  Out out_axes;

  template <class... X>
  auto operator()(const X&... x) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using Device = typename detail::joint_device<X...>::type;
      detail::batch_size batch;
      (detail::see_axis(batch, static_cast<int>(I), x, detail::axis_at<I>(in_axes)), ...);
      const detail::transform_scope scope(batch.size());
      constexpr bool fits = requires {
        f(detail::member_of<Device>(x, detail::axis_at<I>(in_axes))...);
      };
      static_assert(fits,
                    "kiln: the function of vmap does not take these arguments: it is called with as many as the mapped "
                    "one, tensors as `const auto& x`");
      if constexpr (fits) {
        using R = decltype(f(detail::member_of<Device>(x, detail::axis_at<I>(in_axes))...));
        static_assert(!std::is_void_v<R>, "kiln: the function of vmap returns nothing: write return before its value");
        if constexpr (!std::is_void_v<R>)
          return detail::batches_of<Device>(f(detail::member_of<Device>(x, detail::axis_at<I>(in_axes))...),
                                            batch.size(), out_axes);
      }
    }
    (std::index_sequence_for<X...>{});
  }
};

/// f, a function of tensors, as a function of batches of them: `vmap(f)(x)` is f of each x.select(0, i), stacked.
/// `in_axes` says along which axis the members of an argument lie: one axis for all arguments, or a tuple with one, or
/// `unmapped`, for each. `out_axes` says the same of f's result, or of the results of a tuple or pair. What is no
/// tensor is handed on. f must be generic in its tensors; where it would branch on a value it writes where(). A random
/// number that f draws is one for all members. Calls of vmap nest.
///
/// Throws shape_error where the arguments have different numbers of members, index_error for an axis out of range.
template <class F, class In = int, class Out = int>
auto vmap(F f, In in_axes = {}, Out out_axes = {}) {
  return mapped_function<F, In, Out>{std::move(f), in_axes, out_axes};
}

}  // namespace kiln
