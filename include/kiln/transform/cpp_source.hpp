// SPDX-License-Identifier: BSL-1.0
// source<Cpp>(f): a function of plain numbers and its derivative as the text of two C++ functions, which need no header
// but the standard library's and give the bits that kiln gives.
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/tape/infix.hpp>
#include <kiln/transform/cpp_text.hpp>
#include <kiln/transform/gradient.hpp>
#include <kiln/transform/plain.hpp>

namespace kiln {

/// Plain C++, as what source<Cpp>(f) writes.
struct Cpp {};

/// How source<Cpp> names things.
struct source_options {
  std::string name = "f";                   ///< of the function; its derivative is called name_gradient
  std::vector<std::string> arguments = {};  ///< by default x, or x0, x1 ... of several
};

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

/// Throws value_error for what no C++ name is, or for a name that the text gives to a value.
inline void expect_name(const std::string& name) {
  const auto letter = [](char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)); };
  bool good = !name.empty() && letter(name[0]), counted = name.size() > 1 && name[0] == 't';
  for (std::size_t i = 1; i < name.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
    good = good && (digit || letter(name[i]));
    counted = counted && digit;
  }
  if (!good || counted)
    throw value_error(message("source<Cpp>: \"", name,
                              "\" cannot be a name: use letters, digits and _, and not t0, t1 "
                              "..., which values on the way are called"));
}

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
  if (names.arguments.empty())
    for (int i = 0; i < inputs; ++i) names.arguments.push_back(inputs == 1 ? "x" : "x" + std::to_string(i));
  if (names.arguments.size() != static_cast<std::size_t>(inputs))
    throw value_error(message("source<Cpp>: ", names.arguments.size(), " names for a function of ", inputs,
                              " arguments: give one for each, or none"));
  expect_name(names.name);
  for (const std::string& name : names.arguments) expect_name(name);

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
  const cpp_signature how{names.name, names.arguments, {dtype_of<X>...}};
  const cpp_signature its{names.name + "_gradient", names.arguments, {dtype_of<X>...}};
  std::string formula = infix(view(traced_formula<Tag, E, inputs>::tape), rules_for<E>, printed);
  for (std::size_t at = 0; (at = formula.find('\n', at)) != formula.npos;) formula.insert(++at, "// ");
  const std::string functions = "// " + formula + "\n" +
                                cpp_function(view(traced_value<Tag, E, inputs>::tape), how, numbers) +
                                (inputs == 1 ? "\n// Its derivative.\n" : "\n// Its derivatives by the arguments.\n") +
                                cpp_function(gradient, its, numbers);
  std::string text;
  const auto includes = [&](std::string_view header, std::string_view sign) {
    if (functions.find(sign) != functions.npos) text += "#include <" + std::string(header) + ">\n";
  };
  // All that stands in std and is called, but tuples and limits, is in cmath.
  std::size_t named = 0;
  for (std::size_t at = 0; (at = functions.find("std::", at)) != functions.npos; at += 5)
    named += functions.compare(at, 11, "std::tuple<") != 0 && functions.compare(at, 19, "std::numeric_limits") != 0;
  if (named) text += "#include <cmath>\n";
  includes("limits", "std::numeric_limits");
  includes("tuple", "std::tuple<");
  return text + (text.empty() ? "" : "\n") + functions;
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
