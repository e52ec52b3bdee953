// SPDX-License-Identifier: BSL-1.0
// Ops, types and numbers as C++ text: an op is spelled by its value rule (ops/text.hpp), and what a rule calls is
// written as device/cpu/kernel/plain.hpp computes it: the same operations in the same order, so the same bits.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/ops/text.hpp>
#include <kiln/tape/instruction.hpp>

namespace kiln::detail {

/// Functions as the standard library has them, or written out of operators. The operands are names or numbers: they may
/// stand more than once.
struct cpp_language {
  static std::string call(std::string_view name, const std::vector<std::string>& operands) {
    // A function of the standard library of the same name stands here by its name alone.
    static constexpr std::pair<std::string_view, std::string_view> forms[] = {
        {"where", "$0 ? $1 : $2"},
        {"minimum", "$0 < $1 || $0 != $0 ? $0 : $1"},
        {"maximum", "$0 > $1 || $0 != $0 ? $0 : $1"},
        {"isnan", "$0 != $0"},
        {"isinf", "$0 - $0 != 0 && $0 == $0"},
        {"isfinite", "$0 - $0 == 0"},
        {"abs", "$0 < 0 ? -$0 : $0 == 0 ? 0 : $0"},
        {"sign", "$0 > 0 ? 1 : $0 < 0 ? -1 : $0"},
        {"round", "std::nearbyint($0)"},
        {"rsqrt", "1 / std::sqrt($0)"},
        {"reciprocal", "1 / $0"},
        {"sigmoid", "1 / (1 + std::exp(-$0))"},
        // With what the square and the argument of erfc were rounded off by, as gaussian_of and ndtr_of have it.
        {"gaussian",
         "$0 < -40 || $0 > 40 ? 0 : std::exp($0 * $0 / -2) * (1 - std::fma($0, $0, -($0 * $0)) / 2)"},
        {"ndtr",
         "$0 < -40 ? 0 : $0 >= 0 ? std::erfc(-std::sqrt($0 * $0 / 2)) / 2 : std::erfc(std::sqrt($0 * $0 / 2)) / 2 * "
         "(1 + std::fma(std::sqrt($0 * $0 / 2), std::sqrt($0 * $0 / 2), -($0 * $0 / 2)) - "
         "std::fma($0, $0, -($0 * $0)) / 2)"},
        {"remainder",
         "std::fmod($0, $1) != 0 && (std::fmod($0, $1) < 0) != ($1 < 0) ? std::fmod($0, $1) + $1 : "
         "std::fmod($0, $1)"},
        {"sqrt", ""},
        {"pow", ""},
        {"hypot", ""},
        {"floor", ""},
        {"ceil", ""},
        {"trunc", ""},
        {"fmod", ""},
        {"exp", ""},
        {"exp2", ""},
        {"expm1", ""},
        {"log", ""},
        {"log2", ""},
        {"log10", ""},
        {"log1p", ""},
        {"sin", ""},
        {"cos", ""},
        {"tan", ""},
        {"asin", ""},
        {"acos", ""},
        {"atan", ""},
        {"atan2", ""},
        {"sinh", ""},
        {"cosh", ""},
        {"tanh", ""},
        {"asinh", ""},
        {"acosh", ""},
        {"atanh", ""},
        {"erf", ""},
        {"erfc", ""},
        {"lgamma", ""}};
    for (const auto& [known, form] : forms) {
      if (known != name) continue;
      std::string code = form.empty() ? "std::" + std::string(name) : std::string();
      for (std::size_t i = 0; form.empty() && i < operands.size(); ++i) code += (i ? ", " : "(") + operands[i];
      if (form.empty()) return code + ")";
      for (std::size_t i = 0; i < form.size(); ++i)
        if (form[i] == '$')
          code += operands[static_cast<std::size_t>(form[++i] - '0')];
        else
          code += form[i];
      return code;
    }
    throw value_error(message("source<Cpp>: the standard library has no ", name,
                              ": write the function without it, or compute it by kiln"));
  }
};

template <class T>
using cpp_text = spelled::text<T, cpp_language>;

template <class Op, class T>
std::string cpp_spelled(const std::array<std::string, 3>& at) {
  const cpp_text<T> a{at[0]}, b{at[1]}, c{at[2]};
  if constexpr (Op::arity == 1)
    return Op::value(a).code;
  else if constexpr (Op::arity == 2)
    return Op::value(a, b).code;
  else
    return Op::value(cpp_text<bool>{at[0]}, b, c).code;
}
/// How the op with this code is written; `truth`: its operands (of `where`, the last two) are truth values.
template <class... Ops>
std::string cpp_spelled(opcode code, bool truth, const std::array<std::string, 3>& at, op_list<Ops...>) {
  std::string text;
  const auto spell = [&]<class Op>(std::type_identity<Op>) {
    if constexpr (!Op::composite && !Op::reduces) {
      if (opcode_of(Op::name) != code) return false;
      if constexpr (Op::accepts(dtype::boolean)) {
        text = truth ? cpp_spelled<Op, bool>(at) : cpp_spelled<Op, float>(at);
      } else {
        text = cpp_spelled<Op, float>(at);
      }
      return true;
    } else {
      return false;
    }
  };
  if (!(spell(std::type_identity<Ops>{}) || ...)) throw value_error("source<Cpp>: an operation that no list holds");
  return text;
}

inline std::string cpp_type(dtype type) {
  if (type == dtype::boolean) return "bool";
  if (type == dtype::float32) return "float";
  if (type == dtype::float64) return "double";
  throw dtype_error(
      message("source<Cpp>: a value of ", name(type), ": C++ is written for functions of floats and doubles alone"));
}
inline std::string cpp_number(double value, dtype type) {
  if (type == dtype::boolean) return value != 0 ? "true" : "false";
  const bool twice = type == dtype::float64;
  const double held = twice ? value : static_cast<double>(static_cast<float>(value));
  const std::string of = "std::numeric_limits<" + cpp_type(type) + ">::";
  if (std::isnan(held)) return of + "quiet_NaN()";
  if (std::isinf(held)) return held < 0 ? "(-" + of + "infinity())" : of + "infinity()";
  char digits[40];
  const std::to_chars_result end = twice ? std::to_chars(digits, digits + sizeof(digits), held)
                                         : std::to_chars(digits, digits + sizeof(digits), static_cast<float>(held));
  std::string out(digits, end.ptr);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  if (!twice) out += "f";
  return out.front() == '-' ? "(" + out + ")" : out;
}

}  // namespace kiln::detail
