// SPDX-License-Identifier: BSL-1.0
// The members of a module, found without a macro: an aggregate is taken apart by structured bindings, and a member's
// name is what the compiler prints of a pointer to it. A class that is no aggregate lists its own by a static
// `members(self)`.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/core/philox.hpp>
#include <kiln/core/window.hpp>
#include <kiln/nn/aggregate.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::nn {

/// A member with its name, as a static `members(self)` lists it.
template <class X>
struct member {
  std::string name;
  X& value;
};
/// `static auto members(auto& self) { return std::tuple{nn::named("weight", self.weight)}; }`.
template <class X>
member<X> named(std::string name, X& value) {
  return {std::move(name), value};
}

/// Whether values of T are no part of a model: settings, which hold no tensor and no module. Say so of a type of your
/// own that can't be visited: `template <> inline constexpr bool kiln::nn::plain<Type> = true;`.
template <class T>
inline constexpr bool plain = !std::is_class_v<T>;
template <>
inline constexpr bool plain<std::string> = true;
template <>
inline constexpr bool plain<std::string_view> = true;
/// A std::function, whose header is not asked for here.
template <class F>
  requires requires(const F& f) {
    f.target_type();
  }
inline constexpr bool plain<F> = true;
template <class T, std::size_t N>
inline constexpr bool plain<std::span<T, N>> = true;
template <>
inline constexpr bool plain<dims> = true;
template <>
inline constexpr bool plain<pair2d> = true;
template <>
inline constexpr bool plain<generator> = true;

namespace detail {

/// An object of which only addresses are taken.
template <class T>
union nowhere {
  char nothing;
  T value;
  constexpr nowhere() : nothing() {}
  constexpr ~nowhere() {}
};
template <class T>
inline constinit nowhere<T> nowhere_of{};

// clang++ 14 takes no pointer into an object as a template argument, but a class with one.
template <class P>
struct pointer_to_member {
  P at;
};
template <auto Pointer>
constexpr auto printed_member() {
  return std::string_view(__PRETTY_FUNCTION__);
}
template <class T>
constexpr auto printed_type() {
  return std::string_view(__PRETTY_FUNCTION__);
}
constexpr bool of_a_name(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/// The last name in a text that ends in brackets.
constexpr std::string_view last_name(std::string_view text) {
  std::size_t end = text.rfind('}');
  while (end > 0 && !of_a_name(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && of_a_name(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}
template <class T, std::size_t I>
constexpr std::string_view name_of_member() {
  constexpr auto pointer = std::get<I>(tied(nowhere_of<T>.value));
  return last_name(printed_member<pointer_to_member<decltype(pointer)>{pointer}>());
}

/// The name of a class without namespaces and template arguments: Linear; what it says itself, where one text serves
/// several layers. A lambda has none: g++ prints `<lambda()>`, clang++ `(lambda at file:line:column)`.
template <class T>
constexpr std::string_view short_name() {
  if constexpr (requires { T::layer_name; }) return T::layer_name;
  std::string_view text = printed_type<T>();
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of("<;]"));
  if (text.find("(lambda at ") != text.npos) return "Lambda";
  const std::size_t colon = text.rfind("::");
  if (colon != text.npos) text.remove_prefix(colon + 2);
  return text.empty() ? "Lambda" : text;
}

/// What stands in the brackets when a module is printed: "in_features=784, ...".
template <class T>
[[gnu::cold]] std::string settings_of(const void* object) {
  if constexpr (requires(const T& x) { x.settings(); })
    return static_cast<const T*>(object)->settings();
  else
    return {};
}

/// A module, whatever its type.
struct module_slot {
  const void* object;
  std::string_view type;                        ///< Linear
  bool is_list;                                 ///< no module itself: an array, a vector, a tuple
  std::string (*settings)(const void* object);  ///< settings_of
};
template <class T>
module_slot slot_of_module(const T& module) {
  constexpr std::string_view type = short_name<T>();
  return {&module, type, false, &settings_of<T>};
}

class visitor;
/// Tells a visitor what a module holds (walk.hpp).
template <class M>
void walk(std::string_view name, const M& m, visitor& v);

template <class T>
concept ListsMembers = requires(T& x) {
  std::remove_const_t<T>::members(x);
};

// Compilers name the class that holds the sentence with its argument.
template <class T>
struct can_be_visited {
  static constexpr bool checked = true;
  static_assert(
      ListsMembers<T> || std::is_aggregate_v<T>,
      "kiln: the members of this type can't be found, since it is no aggregate (it has a constructor, a base or "
      "private members): give it a public `static auto members(auto& self) { return "
      "std::tuple{nn::named(\"weight\", self.weight)}; }`, or if it holds no tensor say `template <> inline "
      "constexpr bool kiln::nn::plain<Type> = true;`");
};

/// The types of the members of a class, as a tuple of pointers.
template <class T>
auto member_pointers(T& x) {
  static_assert(can_be_visited<std::remove_const_t<T>>::checked);
  if constexpr (ListsMembers<T>)
    return std::apply([](auto... each) { return std::tuple<decltype(&each.value)...>(&each.value...); },
                      std::remove_const_t<T>::members(x));
  else if constexpr (std::is_aggregate_v<T>)
    return tied(x);
  else
    return std::tuple<>();
}

/// Calls f(name, member) for each member of a module.
template <class T, class F>
void each_member(T& x, F f) {
  using M = std::remove_const_t<T>;
  static_assert(can_be_visited<M>::checked);
  if constexpr (ListsMembers<T>) {
    std::apply([&](const auto&... each) { (f(std::string_view(each.name), each.value), ...); }, M::members(x));
  } else if constexpr (std::is_aggregate_v<M>) {
    [&]<std::size_t... I>(const auto& pointers, std::index_sequence<I...>) {
      (f(name_of_member<M, I>(), *std::get<I>(pointers)), ...);
    }
    (tied(x), std::make_index_sequence<member_count<M>>());
  }
}

}  // namespace detail

}  // namespace kiln::nn
