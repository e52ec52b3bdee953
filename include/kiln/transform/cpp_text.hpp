// SPDX-License-Identifier: BSL-1.0
// A tape of plain numbers as the text of a C++ function. Each value has a statement of its own, spelled by its op's
// value rule (ops/text.hpp), and what a rule calls is written as device/cpu/kernel/plain.hpp computes it: the same
// operations in the same order, so the same bits.
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
#include <kiln/tape/program.hpp>

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

/// A function to be written: a name, and of each argument the name and type.
struct cpp_signature {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<dtype> types;
};

/// The function that computes the tape's results, of which several come as a tuple. Leaves are the arguments; `numbers`
/// are those that the function was made with.
inline std::string cpp_function(const tape_view& tape, const cpp_signature& how, const std::vector<double>& numbers) {
  const auto slot = [](const instruction& now) { return static_cast<std::size_t>(now.slot); };
  std::vector<std::string> at(static_cast<std::size_t>(tape.size));
  std::vector<bool> used(how.arguments.size(), false);
  std::string body;
  int temporaries = 0;
  for (int i = 0; i < tape.size; ++i) {
    const instruction& now = tape[i];
    std::string& here = at[static_cast<std::size_t>(i)];
    if (now.code == opcode::leaf) {
      here = how.arguments[slot(now)];
      used[slot(now)] = true;
    } else if (now.code == opcode::scalar) {
      here = cpp_number(numbers[slot(now)], now.type);
    } else if (now.code == opcode::constant) {
      here = cpp_number(number_in(now), now.type);
    } else {
      std::array<std::string, 3> operands;
      const std::int16_t places[] = {now.a, now.b, now.c};
      for (std::size_t k = 0; k < 3; ++k)
        if (places[k] >= 0) operands[k] = at[static_cast<std::size_t>(places[k])];
      const std::string type = cpp_type(now.type);
      std::string code;
      if (now.code == opcode_of(cast_op::name))
        code = now.type == dtype::boolean ? operands[0] + " != 0" : "static_cast<" + type + ">(" + operands[0] + ")";
      else
        code = cpp_spelled(now.code, tape[now.b >= 0 ? now.b : now.a].type == dtype::boolean, operands, all_ops{});
      here = "t" + std::to_string(temporaries++);
      body += "  const " + type + " " + here + " = " + code + ";\n";
    }
  }
  std::string result, types;
  for (int r = 0; r < tape.result_count; ++r) {
    types += (r ? ", " : "") + cpp_type(tape[tape.results[r]].type);
    result += (r ? ", " : "") + at[static_cast<std::size_t>(tape.results[r])];
  }
  const bool several = tape.result_count > 1;
  std::string text = (several ? "std::tuple<" + types + ">" : types) + " " + how.name + "(";
  for (std::size_t i = 0; i < how.arguments.size(); ++i)
    text += (i ? ", " : "") + cpp_type(how.types[i]) + (used[i] ? " " + how.arguments[i] : "");
  return "inline " + text + ") {\n" + body + "  return " + (several ? "{" + result + "}" : result) + ";\n}\n";
}

}  // namespace kiln::detail
