// SPDX-License-Identifier: BSL-1.0
// Element types: the closed list, their names, and what becomes of two different ones in one expression.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <type_traits>

#include <kiln/core/half.hpp>

namespace kiln {

/// The element types, in the order in which promotion prefers the later of two in one category.
enum class dtype : std::uint8_t { boolean, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 };

inline constexpr int dtype_count = 10;

template <class T>
struct dtype_traits;
template <>
struct dtype_traits<bool> {
  static constexpr dtype value = dtype::boolean;
};
template <>
struct dtype_traits<std::uint8_t> {
  static constexpr dtype value = dtype::uint8;
};
template <>
struct dtype_traits<std::int8_t> {
  static constexpr dtype value = dtype::int8;
};
template <>
struct dtype_traits<std::int16_t> {
  static constexpr dtype value = dtype::int16;
};
template <>
struct dtype_traits<std::int32_t> {
  static constexpr dtype value = dtype::int32;
};
template <>
struct dtype_traits<std::int64_t> {
  static constexpr dtype value = dtype::int64;
};
template <>
struct dtype_traits<half> {
  static constexpr dtype value = dtype::float16;
};
template <>
struct dtype_traits<bfloat16> {
  static constexpr dtype value = dtype::bfloat16;
};
template <>
struct dtype_traits<float> {
  static constexpr dtype value = dtype::float32;
};
template <>
struct dtype_traits<double> {
  static constexpr dtype value = dtype::float64;
};

/// A C++ type that a tensor can hold.
template <class T>
concept Element = requires {
  dtype_traits<T>::value;
};

template <Element T>
inline constexpr dtype dtype_of = dtype_traits<T>::value;

/// Calls `f(std::type_identity<T>{})` with the C++ type of `type`.
template <class F>
constexpr decltype(auto) visit_dtype(dtype type, F&& f) {
  switch (type) {
    case dtype::boolean:
      return f(std::type_identity<bool>{});
    case dtype::uint8:
      return f(std::type_identity<std::uint8_t>{});
    case dtype::int8:
      return f(std::type_identity<std::int8_t>{});
    case dtype::int16:
      return f(std::type_identity<std::int16_t>{});
    case dtype::int32:
      return f(std::type_identity<std::int32_t>{});
    case dtype::int64:
      return f(std::type_identity<std::int64_t>{});
    case dtype::float16:
      return f(std::type_identity<half>{});
    case dtype::bfloat16:
      return f(std::type_identity<bfloat16>{});
    case dtype::float32:
      return f(std::type_identity<float>{});
    case dtype::float64:
      break;
  }
  return f(std::type_identity<double>{});
}

namespace detail {
template <dtype D>
struct element_of;
template <>
struct element_of<dtype::boolean> : std::type_identity<bool> {};
template <>
struct element_of<dtype::uint8> : std::type_identity<std::uint8_t> {};
template <>
struct element_of<dtype::int8> : std::type_identity<std::int8_t> {};
template <>
struct element_of<dtype::int16> : std::type_identity<std::int16_t> {};
template <>
struct element_of<dtype::int32> : std::type_identity<std::int32_t> {};
template <>
struct element_of<dtype::int64> : std::type_identity<std::int64_t> {};
template <>
struct element_of<dtype::float16> : std::type_identity<half> {};
template <>
struct element_of<dtype::bfloat16> : std::type_identity<bfloat16> {};
template <>
struct element_of<dtype::float32> : std::type_identity<float> {};
template <>
struct element_of<dtype::float64> : std::type_identity<double> {};
}  // namespace detail

/// The C++ type of a dtype.
template <dtype D>
using element_t = typename detail::element_of<D>::type;

/// PyTorch's name of the type: "float32", "int64", "bool".
constexpr std::string_view name(dtype type) {
  constexpr std::array<std::string_view, dtype_count> names{"bool",  "uint8",   "int8",     "int16",   "int32",
                                                            "int64", "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<std::size_t>(type)];
}

/// Writes its name.
inline std::ostream& operator<<(std::ostream& out, dtype type) {
  return out << name(type);
}

namespace detail {
// Not within the function, which would write it to the stack for every call.
inline constexpr std::array<std::uint8_t, dtype_count> element_sizes{1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
}  // namespace detail
/// Bytes of one element.
constexpr std::size_t size_of(dtype type) {
  return detail::element_sizes[static_cast<std::size_t>(type)];
}

/// Whether numbers of a type have fractions.
constexpr bool is_floating(dtype type) {
  return type >= dtype::float16;
}

/// The type of an expression that mixes `a` and `b`, as PyTorch has it: the wider of one category; a floating type
/// wins over an integer; uint8 with a signed type becomes a signed type that holds both; half with bfloat16 is float32.
constexpr dtype promote(dtype a, dtype b) {
  if (a == b) return a;
  const dtype low = a < b ? a : b, high = a < b ? b : a;
  if (low == dtype::uint8 && high == dtype::int8) return dtype::int16;
  if (low == dtype::float16 && high == dtype::bfloat16) return dtype::float32;
  return high;
}

template <Element A, Element B>
using promote_t = element_t<promote(dtype_of<A>, dtype_of<B>)>;

/// What arithmetic on `T` is done in: half types compute in float and round once, at the store.
template <Element T>
using compute_t = std::conditional_t<std::same_as<T, half> || std::same_as<T, bfloat16>, float, T>;

/// The same of a type as a value.
constexpr dtype compute_type(dtype type) {
  return type == dtype::float16 || type == dtype::bfloat16 ? dtype::float32 : type;
}

namespace detail {
template <class S>
inline constexpr bool is_number = std::is_arithmetic_v<S> || std::is_same_v<S, half> || std::is_same_v<S, bfloat16>;
}  // namespace detail

/// A C++ number that may stand beside a tensor in an expression.
template <class S>
concept Number = detail::is_number<std::remove_cvref_t<S>>;

namespace detail {
/// 0 bool, 1 integer, 2 floating: a number changes a tensor's type only when its category is higher.
template <class T>
constexpr int category = std::same_as<T, bool> ? 0 : (std::is_integral_v<T> ? 1 : 2);
}  // namespace detail

/// The type of tensor-of-T with number-of-type-S: the tensor's, unless the number's category is higher
/// (an integer tensor with 0.5 becomes float32, a bool tensor with 2 becomes int64), as in PyTorch.
template <Element T, Number S>
using with_number_t = std::conditional_t<(detail::category<S> <= detail::category<T>), T,
                                         std::conditional_t<detail::category<S> == 2, float, std::int64_t>>;

}  // namespace kiln
