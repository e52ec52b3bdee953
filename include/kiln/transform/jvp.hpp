// SPDX-License-Identifier: BSL-1.0
// jvp(f, x, dx): the value of a function and its tangent, the change of the value where the arguments change by theirs.
#pragma once

#include <tuple>
#include <utility>

#include <kiln/transform/dual.hpp>
#include <kiln/transform/plain.hpp>
#include <kiln/transform/reverse.hpp>

namespace kiln {

/// f's value at the arguments and its derivative along the tangents, as a pair. Arguments and tangents are tuples of
/// one length. Of plain numbers f must be generic.
template <class F, detail::PlainInput... X, detail::PlainInput... DX>
constexpr auto jvp(F f, const std::tuple<X...>& x, const std::tuple<DX...>& dx) {
  return detail::tangent_call(f, x, dx);
}
/// The same of one argument.
template <class F, detail::PlainInput X, detail::PlainInput DX>
constexpr auto jvp(F f, const X& x, const DX& dx) {
  return detail::tangent_call(f, std::tuple<X>{x}, std::tuple<DX>{dx});
}

namespace detail {

template <class Device, class X, class DX>
auto dual_argument(const X& x, const DX& dx, int i) {
  static_assert(TensorInput<X> && TensorInput<DX>, "kiln: beside tensors, arguments of jvp are tensors");
  using T = typename X::value_type;
  static_assert(is_floating(dtype_of<T>), "kiln: only tensors of a floating type have tangents");
  static_assert(std::same_as<typename DX::value_type, T>,
                "kiln: a tangent has the element type of its argument: cast<T>() it");
  const auto value = as_tensor(x);
  const auto tangent = as_tensor(dx);
  if (value.sizes() != tangent.sizes())
    throw shape_error(message("jvp: tangent ", i, " has shape ", tangent.sizes(), " but its argument has ",
                              value.sizes(), ": they must be equal"));
  return Tensor<T, dual<Device>>(lifted<Device, dual<Device>>(value), lifted<Device, dual<Device>>(tangent),
                                 transform_scope::id());
}
template <class Y>
auto tangent_of(const Y& y) {
  if constexpr (Y::moves)
    return y.tangent();
  else
    return zeros_of(y.value());
}

template <class F, class... X, class... DX>
auto jvp_call(const F& f, const std::tuple<X...>& x, const std::tuple<DX...>& dx) {
  static_assert(sizeof...(X) == sizeof...(DX), "kiln: jvp needs one tangent for each argument");
  using Given = typename joint_device<X..., DX...>::type;
  const transform_scope scope(0);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto call = [&]<class Device>(std::type_identity<Device>) {
      return f(dual_argument<Device>(std::get<I>(x), std::get<I>(dx), static_cast<int>(I))...);
    };
    using R = decltype(call(std::type_identity<Given>{}));
    // What the function brings along may be within more transforms than its arguments.
    using Results = typename device_of_results<R>::type;
    using Device = typename common_device<Given, typename below_of<Results>::type>::type;
    const auto results = evaluated_results<dual<Device>>(call(std::type_identity<Device>{}));
    const auto values = std::apply([](const auto&... y) { return std::tuple{y.value()...}; }, results);
    const auto tangents = std::apply([](const auto&... y) { return std::tuple{tangent_of(y)...}; }, results);
    return std::pair{one_or_all(values), one_or_all(tangents)};
  }
  (std::index_sequence_for<X...>{});
}

}  // namespace detail

/// The same of tensors. The function's values and tangents are computed side by side, by the same rules as gradients; a
/// function with several results returns them as a tuple. Throws shape_error for a tangent of another shape than its
/// argument.
template <class F, class... X, class... DX>
  requires(detail::TensorInput<X> || ...)
auto jvp(F f, const std::tuple<X...>& x, const std::tuple<DX...>& dx) {
  return detail::jvp_call(f, x, dx);
}
template <class F, detail::TensorInput X, detail::TensorInput DX>
auto jvp(F f, const X& x, const DX& dx) {
  return detail::jvp_call(f, std::tuple<X>{x}, std::tuple<DX>{dx});
}
/// Not possible: a tangent is missing.
template <class F, class X>
auto jvp(F, const X& x) {
  static_assert(detail::never<X>,
                "kiln: jvp takes the arguments and their tangents: jvp(f, x, dx), or jvp(f, std::tuple(x, y), "
                "std::tuple(dx, dy))");
  return std::pair{x, x};
}

}  // namespace kiln
