// SPDX-License-Identifier: BSL-1.0
// How each op of the list is written in CUDA, found by op code at run time: its value rule, or of a reduction how two
// partial results are folded and what folding nothing gives. `spelling_of` is the door; types and numbers of the
// generated text are spelled here too.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/text.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tape/instruction.hpp>

namespace kiln::cuda {

/// The operands of an op, as expressions.
struct operand_codes {
  std::string a, b, c;
};

/// How an op is written. Functions take the type that its operands have (of `where`, the last two).
struct spelling {
  std::string_view name;
  std::string (*value)(dtype operands, const operand_codes&) = nullptr;                      ///< elementwise ops
  std::string (*combine)(dtype type, const std::string& a, const std::string& b) = nullptr;  ///< reductions
  std::uint64_t (*identity)(dtype type) = nullptr;  ///< reductions: a double or int64, as bits
};

namespace detail {

template <class F>
auto visit_category(dtype type, F f) {
  if (type == dtype::boolean) return f(std::type_identity<bool>{});
  if (is_floating(type)) return f(std::type_identity<float>{});
  return f(std::type_identity<int>{});
}

template <class Op>
std::string spell_value(dtype operands, const operand_codes& at) {
  return visit_category(operands, [&]<class T>(std::type_identity<T>) -> std::string {
    const text<T> a{at.a}, b{at.b}, c{at.c};
    if constexpr (Op::arity == 1)
      return Op::value(a).code;
    else if constexpr (Op::arity == 2)
      return Op::value(a, b).code;
    else
      return Op::value(text<bool>{at.a}, b, c).code;
  });
}
template <class Op>
std::string spell_combine(dtype type, const std::string& a, const std::string& b) {
  return visit_category(
      type, [&]<class T>(std::type_identity<T>) { return std::string(Op::combine(text<T>{a}, text<T>{b}).code); });
}
template <class Op>
std::uint64_t identity_bits(dtype type) {
  return visit_dtype(compute_type(type), []<class T>(std::type_identity<T>) {
    const auto value = Op::template identity<T>();
    if constexpr (std::is_floating_point_v<T>)
      return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    else
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  });
}

template <class Op>
constexpr spelling spelling_for() {
  spelling s{.name = Op::name};
  if constexpr (!Op::composite && Op::reduces) {
    s.combine = &spell_combine<Op>;
    s.identity = &identity_bits<Op>;
  } else if constexpr (!Op::composite) {
    s.value = &spell_value<Op>;
  }
  return s;
}

template <class List>
struct spellings;
template <class... Ops>
struct spellings<op_list<Ops...>> {
  static constexpr std::array<spelling, sizeof...(Ops)> all{spelling_for<Ops>()...};
};

}  // namespace detail

/// How the op with this code is written. Throws value_error for a code that is not in the list of ops, or one of a
/// composite op: `expand` writes those out before anything is printed.
inline const spelling& spelling_of(opcode code) {
  const int i = is_op(code) ? op_facts_table.index(code) : -1;
  if (i < 0)
    throw value_error(message("cuda: the tape holds the unknown op code ", static_cast<std::uint32_t>(code),
                              ": was it made by another version of kiln?"));
  const spelling& s = detail::spellings<all_ops>::all[static_cast<std::size_t>(i)];
  if (!s.value && !s.combine)
    throw value_error(message("cuda: the tape holds the composite op ", s.name, ": write it out with expand() first"));
  return s;
}

/// The device type that holds an element of this dtype in memory: "float", "int8", "bfloat16".
constexpr std::string_view storage_name(dtype type) {
  constexpr std::array<std::string_view, dtype_count> names{"bool",  "uint8", "int8",     "int16", "int32",
                                                            "int64", "half",  "bfloat16", "float", "double"};
  return names[static_cast<std::size_t>(type)];
}
/// The device type that it is computed in: half types compute in float.
constexpr std::string_view value_name(dtype type) {
  return storage_name(compute_type(type));
}

/// A literal of the type that `type` is computed in; `bits` holds a double, or for integers an int64.
std::string literal(dtype type, std::uint64_t bits);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/spelling_impl.hpp>
#endif
