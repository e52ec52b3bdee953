// SPDX-License-Identifier: BSL-1.0
// Values, gradients and tangents of functions of plain numbers. The function is called once, with traced inputs; the
// program that comes of it runs unrolled on the numbers. Where the inputs are traced themselves, a function around this
// one is being differentiated: the result is then an expression for it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/transform/traced.hpp>
#include <kiln/transform/unrolled.hpp>

namespace kiln::detail {

/// An expression over traced inputs.
template <class X>
concept TracedExpression = Expression<X> && std::same_as<typename X::device_type, any_device>;
/// What functions of plain numbers are called with.
template <class X>
concept PlainInput = Number<X> || TracedExpression<X>;

template <class X>
concept PlainFloat = std::same_as<X, float> || std::same_as<X, double>;

/// The element type that an input is differentiated in; void for integers.
template <class X>
struct input_type : std::type_identity<void> {};
template <PlainFloat X>
struct input_type<X> : std::type_identity<X> {};
template <TracedExpression X>
struct input_type<X> : std::type_identity<typename X::value_type> {};

template <class... T>
struct first_floating : std::type_identity<float> {};
template <class T, class... Rest>
struct first_floating<T, Rest...>
    : std::conditional_t<std::is_floating_point_v<T>, std::type_identity<T>, first_floating<Rest...>> {};

/// Stands for the inputs of a function.
template <class F>
struct inputs_of {};

template <class Tag, int I, class X>
constexpr auto traced_input(const X& x) {
  using T = typename input_type<X>::type;
  if constexpr (std::is_void_v<T>)
    return x;
  else if constexpr (Number<X>)
    return traced<T, I, Tag>{x};
  else
    return traced<T, I, Tag>{};
}

template <class T, class R>
constexpr auto traced_result(const R& r) {
  if constexpr (Number<R>)
    return scalar<T>{static_cast<T>(r)};  // a function that does not look at its inputs
  else {
    static_assert(TracedExpression<R>,
                  "kiln: a function of plain numbers must return one number: an expression of its arguments, without "
                  "tensors");
    return r;
  }
}

template <class T, class F, std::size_t... I, class... X>
constexpr auto trace_at(std::index_sequence<I...>, const F& f, const X&... x) {
  constexpr bool takes = requires {
    f(traced_input<inputs_of<F>, static_cast<int>(I)>(x)...);
  };
  static_assert(takes,
                "kiln: a function of plain numbers is called with what records them, once for each argument: take "
                "them as `auto`, [](auto x) { return x * x; }");
  if constexpr (takes) {
    constexpr bool returns = !std::is_void_v<decltype(f(traced_input<inputs_of<F>, static_cast<int>(I)>(x)...))>;
    static_assert(returns, "kiln: the function to be differentiated returns nothing: write return before its value");
    if constexpr (returns)
      return traced_result<T>(f(traced_input<inputs_of<F>, static_cast<int>(I)>(x)...));
    else
      return scalar<T>{};
  } else {
    return scalar<T>{};
  }
}
/// f's result as an expression over inputs of `inputs_of<F>`.
template <class F, class... X>
constexpr auto trace(const F& f, const X&... x) {
  using T = typename first_floating<typename input_type<X>::type...>::type;
  return trace_at<T>(std::index_sequence_for<X...>{}, f, x...);
}

template <class X>
constexpr std::uint64_t bits_of(const X& x) {
  return common::to_bits(x);
}
template <class X>
constexpr auto as_expression(const X& x) {
  if constexpr (PlainFloat<X>)
    return scalar<X>{x};
  else if constexpr (Number<X>)
    return scalar<std::int64_t>{static_cast<std::int64_t>(x)};
  else
    return x;
}

/// A program made of a trace, ready to give results: run, if all inputs are numbers; else as expressions.
template <class Program, class Tag, class E, class... X>
struct plain_results {
  E e;
  std::tuple<X...> x;
  template <int R>
  constexpr auto get() const {
    return std::apply(
        [&](const auto&... each) {
          return derived<Program, R, Tag, E, decltype(as_expression(each))...>{e, {as_expression(each)...}};
        },
        x);
  }
};
template <class Program, class Tag, class E, class... X>
  requires((Number<X> && ...) && outer_count<Tag, E> == 0)
struct plain_results<Program, Tag, E, X...> {
  unrolled<Program::tape> values;
  constexpr plain_results(const E& e, const std::tuple<X...>& x) : values(run(e, x)) {}
  template <int R>
  constexpr auto get() const {
    return result_of<R, Program::tape>(values);
  }

 private:
  static constexpr unrolled<Program::tape> run(const E& e, const std::tuple<X...>& x) {
    std::array<std::uint64_t, sizeof...(X) + 1> leaves{};
    std::array<std::uint64_t, static_cast<std::size_t>(number_count<E>) + 1> numbers{};
    int n = 0;
    std::apply([&](const auto&... each) { ((leaves[static_cast<std::size_t>(n++)] = bits_of(each)), ...); }, x);
    n = 0;
    held_numbers::each(e, [&](auto number) { numbers[static_cast<std::size_t>(n++)] = bits_of(number); });
    return unrolled<Program::tape>(leaves.data(), numbers.data());
  }
};

template <class Program, class Tag, class E, class... X>
constexpr auto plain_run(const E& e, const X&... x) {
  return plain_results<Program, Tag, E, X...>{e, std::tuple<X...>{x...}};
}

template <int I, class... X>
constexpr bool check_input() {
  static_assert(I >= 0 && I < static_cast<int>(sizeof...(X)),
                "kiln: there is no such argument: grad<0> means the first one, and so on");
  if constexpr (I >= 0 && I < static_cast<int>(sizeof...(X)))
    static_assert(
        !std::is_void_v<typename input_type<std::tuple_element_t<static_cast<std::size_t>(I), std::tuple<X...>>>::type>,
        "kiln: only arguments of a floating type have gradients: this one is an integer");
  return true;
}

template <int... Wanted, class Results>
constexpr auto wanted_results(const Results& r) {
  if constexpr (sizeof...(Wanted) == 1)
    return r.template get<0>();
  else
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{r.template get<static_cast<int>(I)>()...};
    }
  (std::make_index_sequence<sizeof...(Wanted)>{});
}

/// The gradients of f at x by the inputs `Wanted`: one, or a tuple of them; with the value in front, if `WithValue`.
template <bool WithValue, int... Wanted, class F, PlainInput... X>
constexpr auto gradient_call(const F& f, const X&... x) {
  static_assert((check_input<Wanted, X...>() && ...));
  const auto e = trace(f, x...);
  using E = std::remove_const_t<decltype(e)>;
  using Tag = inputs_of<F>;
  using Program = traced_gradient<Tag, E, static_cast<int>(sizeof...(X)), WithValue, false, Wanted...>;
  const auto results = plain_run<Program, Tag>(e, x...);
  if constexpr (WithValue)
    return std::pair{results.template get<static_cast<int>(sizeof...(Wanted))>(), wanted_results<Wanted...>(results)};
  else
    return wanted_results<Wanted...>(results);
}

/// Gradients of f at x, given that of its value: what vjp() returns.
template <class F, class... X>
struct plain_pullback {
  F f;
  std::tuple<X...> x;
  template <PlainInput G>
  constexpr auto operator()(const G& g) const {
    return std::apply(
        [&](const auto&... each) {
          const auto e = trace(f, each...);
          using E = std::remove_const_t<decltype(e)>;
          using T = typename E::value_type;
          static_assert(Number<G> || std::same_as<typename input_type<G>::type, T>,
                        "kiln: the cotangent must be of the type of the function's value");
          return [&]<int... I>(std::integer_sequence<int, I...>) {
            static_assert((check_input<I, X...>() && ...));
            using Program = traced_gradient<inputs_of<F>, E, static_cast<int>(sizeof...(X)), false, true, I...>;
            if constexpr (Number<G>)
              return wanted_results<I...>(plain_run<Program, inputs_of<F>>(e, each..., static_cast<T>(g)));
            else
              return wanted_results<I...>(plain_run<Program, inputs_of<F>>(e, each..., g));
          }
          (std::make_integer_sequence<int, static_cast<int>(sizeof...(X))>{});
        },
        x);
  }
};

/// Value and tangent of f at x, where x changes by dx.
template <class F, PlainInput... X, PlainInput... DX>
constexpr auto tangent_call(const F& f, const std::tuple<X...>& x, const std::tuple<DX...>& dx) {
  static_assert(sizeof...(X) == sizeof...(DX), "kiln: jvp needs one tangent for each argument");
  static_assert((std::same_as<typename input_type<X>::type, typename input_type<DX>::type> && ...),
                "kiln: jvp needs tangents of the types of the arguments: 0.5f for a float, 0.5 for a double");
  const auto e = std::apply([&](const X&... each) { return trace(f, each...); }, x);
  using E = std::remove_const_t<decltype(e)>;
  using Program = traced_tangent<inputs_of<F>, E, static_cast<int>(sizeof...(X))>;
  const auto results = std::apply([&](const auto&... each) { return plain_run<Program, inputs_of<F>>(e, each...); },
                                  std::tuple_cat(x, dx));
  return std::pair{results.template get<0>(), results.template get<1>()};
}

}  // namespace kiln::detail
