// SPDX-License-Identifier: BSL-1.0
// The definitions of cpp_function.hpp.
#pragma once

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/transform/cpp_function.hpp>
#include <kiln/transform/cpp_text.hpp>

namespace kiln::detail {

/// Throws value_error for what no C++ name is, or for a name that the text gives to a value.
KILN_INLINE void expect_name(const std::string& name) {
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

KILN_INLINE void check_names(source_options& names, int inputs) {
  if (names.arguments.empty())
    for (int i = 0; i < inputs; ++i) names.arguments.push_back(inputs == 1 ? "x" : "x" + std::to_string(i));
  if (names.arguments.size() != static_cast<std::size_t>(inputs))
    throw value_error(message("source<Cpp>: ", names.arguments.size(), " names for a function of ", inputs,
                              " arguments: give one for each, or none"));
  expect_name(names.name);
  for (const std::string& name : names.arguments) expect_name(name);
}

KILN_INLINE std::string cpp_function(const tape_view& tape, const cpp_signature& how,
                                     const std::vector<double>& numbers) {
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

KILN_INLINE std::string cpp_text_of(const cpp_source_parts& parts) {
  const cpp_signature how{parts.names.name, parts.names.arguments, parts.types};
  const cpp_signature its{parts.names.name + "_gradient", parts.names.arguments, parts.types};
  std::string formula = parts.formula;
  for (std::size_t at = 0; (at = formula.find('\n', at)) != formula.npos;) formula.insert(++at, "// ");
  const std::string functions =
      "// " + formula + "\n" + cpp_function(parts.value, how, parts.numbers) +
      (parts.types.size() == 1 ? "\n// Its derivative.\n" : "\n// Its derivatives by the arguments.\n") +
      cpp_function(parts.gradient, its, parts.numbers);
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

}  // namespace kiln::detail
