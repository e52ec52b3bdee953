// SPDX-License-Identifier: BSL-1.0
// The definitions of spelling.hpp.
#pragma once

#include <kiln/device/cuda/print/spelling.hpp>

namespace kiln::cuda {

KILN_INLINE std::string literal(dtype type, std::uint64_t bits) {
  if (type == dtype::boolean) return bits != 0 ? "true" : "false";
  if (!is_floating(type)) {
    const auto value = static_cast<std::int64_t>(bits);
    if (type == dtype::int64)
      return value == std::numeric_limits<std::int64_t>::min() ? "(-9223372036854775807ll - 1)"
             : value < 0                                       ? message("(", value, "ll)")
                                                               : message(value, "ll");
    return message(value_name(type), "(", value, ")");
  }
  const double value = std::bit_cast<double>(bits);
  const bool twice = type == dtype::float64;
  const char* const of = twice ? "<double>()" : "<float>()";
  if (std::isnan(value)) return std::string("nan") + of;
  char digits[40];
  const std::to_chars_result end = twice ? std::to_chars(digits, digits + sizeof(digits), value)
                                         : std::to_chars(digits, digits + sizeof(digits), static_cast<float>(value));
  std::string out(digits, end.ptr);
  // What is finite in double may not be in float.
  if (out.find("inf") != std::string::npos)
    return std::string(value < 0 ? "(-infinity" : "infinity") + of + (value < 0 ? ")" : "");
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  if (!twice) out += "f";
  return out.front() == '-' ? "(" + out + ")" : out;
}

}  // namespace kiln::cuda
