// SPDX-License-Identifier: BSL-1.0
// source<Cpp>(f): a function of plain numbers and its derivative as the text of two C++ functions, which need no header
// but the standard library's and give the bits that kiln gives.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/tape/infix.hpp>
#include <kiln/transform/cpp_function.hpp>
#include <kiln/transform/gradient.hpp>
#include <kiln/transform/plain.hpp>

namespace kiln {

/// Plain C++, as what source<Cpp>(f) writes.
struct Cpp {};

namespace detail {

/// The function as it was written, for its formula.
template <class Tag, class E, int Inputs>
struct traced_formula {
  static constexpr auto tape = finished([](program& out) {
    program written;
    traced_writer<Tag, Inputs> writer{written};
    written.add_result(writer.visit(std::type_identity<E>{}));
    keep_needed(written, out);
  });
};

/// How many numbers a generic function takes: the least that it can be called with; a gradient, as many as its
/// function.
template <class F>
struct argument_count {
  template <class... X>
  static constexpr int with() {
    static_assert(sizeof...(X) <= 8,
                  "kiln: source<Cpp> needs a generic function of 1 to 8 numbers, [](auto x) { return x * x; }");
    if constexpr (sizeof...(X) > 8)
      return 1;
    else if constexpr (std::is_invocable_v<const F&, const X&...>)
      return static_cast<int>(sizeof...(X));
    else
      return with<X..., traced<float, static_cast<int>(sizeof...(X)), inputs_of<F>>>();
  }
  static constexpr int value = with<traced<float, 0, inputs_of<F>>>();
};
template <class F, bool WithValue, int... Wanted>
struct argument_count<gradient_function<F, WithValue, Wanted...>> : argument_count<F> {};

template <class F, PlainFloat... X>
std::string cpp_source(const F& f, source_options names, const X&... x) {
  constexpr int inputs = static_cast<int>(sizeof...(X));
  const auto e = trace(f, x...);
  using E = std::remove_const_t<decltype(e)>;
  using Tag = inputs_of<F>;
  check_names(names, inputs);
  std::vector<double> numbers;
  tape_names printed{names.arguments, {}};
  held_numbers::each(e, [&](auto number) {
    numbers.push_back(static_cast<double>(number));
    printed.numbers.push_back(number_text(static_cast<double>(number), dtype_of<decltype(number)>));
  });
  const auto gradient = [&]<int... I>(std::integer_sequence<int, I...>) {
    return view(traced_gradient<Tag, E, inputs, false, false, I...>::tape);
  }
  (std::make_integer_sequence<int, inputs>{});
  return cpp_text_of({.names = std::move(names),
                      .types = {dtype_of<X>...},
                      .numbers = std::move(numbers),
                      .formula = infix(view(traced_formula<Tag, E, inputs>::tape), facts_at_run_time<E>(), printed),
                      .value = view(traced_value<Tag, E, inputs>::tape),
                      .gradient = gradient});
}

}  // namespace detail

/// C++ for f and its derivative: two functions, `name` and `name_gradient`, that need nothing of kiln. f is a generic
/// function of plain numbers, `[](auto x) { return x * x; }`, taken to be of floats; source<Cpp, double>(f) says of
/// what type each argument is. Of several arguments the derivatives come as a tuple. Numbers that f brings along are
/// written down as they are now. Each operation is a statement of its own and stands as kiln does it, so the bits are
/// those of vjp(f, x) and grad(f)(x) where the compiler contracts the same products: always with -ffp-contract=off.
/// (Called as f(x), C++ itself would compute x - 2.0 / 3 in double where x is a float.) Throws value_error for names
/// that are none and for digamma and polygamma, which the standard library lacks; dtype_error where f computes with
/// integers.
template <std::same_as<Cpp> Language, detail::PlainFloat... X, class F>
std::string source(const F& f, const source_options& names = {}) {
  if constexpr (sizeof...(X) > 0)
    return detail::cpp_source(f, names, X()...);
  else
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::cpp_source(f, names, (static_cast<void>(I), 0.0f)...);
    }
  (std::make_index_sequence<static_cast<std::size_t>(detail::argument_count<F>::value)>{});
}

}  // namespace kiln
