// SPDX-License-Identifier: BSL-1.0
// How much shared memory a kernel declares, read off its text: what a driver tells of a compiled kernel, for texts that
// are not compiled.
#pragma once

#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace emulate {

namespace detail {

inline bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Bytes of a type that kernels declare arrays of; 0 if it is not known.
inline std::size_t bytes_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, std::size_t> known[] = {
      {"double", 8},   {"int64", 8}, {"uint64", 8}, {"float", 4}, {"int", 4},
      {"unsigned", 4}, {"int32", 4}, {"uint32", 4}, {"half", 2},  {"int16", 2},
      {"bfloat16", 2}, {"int8", 1},  {"uint8", 1},  {"bool", 1},  {"char", 1}};
  for (const auto& [name, bytes] : known)
    if (name == type) return bytes;
  return 0;
}

/// The value of a product of numbers, "9 * 256"; nothing if it is another expression.
inline std::optional<std::size_t> product_of_numbers(std::string_view text) {
  std::size_t product = 1, factor = 0;
  bool digits = false;
  for (const char c : text) {
    if (c == ' ') continue;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      factor = factor * 10 + static_cast<std::size_t>(c - '0');
      digits = true;
    } else if (c == '*' && digits) {
      product *= std::exchange(factor, 0);
      digits = false;
    } else {
      return std::nullopt;
    }
  }
  if (!digits) return std::nullopt;
  return product * factor;
}

/// Bytes of a vector, "vec<float, 4>", which begins at a multiple of them; 0 of another type.
inline std::size_t bytes_of_vector(std::string_view type) {
  const auto comma = type.find(", ");
  if (!type.starts_with("vec<") || !type.ends_with(">") || comma == type.npos) return 0;
  return bytes_of_type(type.substr(4, comma - 4)) *
         product_of_numbers(type.substr(comma + 2, type.size() - comma - 3)).value_or(0);
}

/// Bytes of "type name[number]..." between __shared__ and its semicolon, and what its place is a multiple of; nothing
/// if it is written in another way.
struct declared_array {
  std::size_t bytes, alignment;
};
inline std::optional<declared_array> bytes_of_declaration(std::string_view text) {
  const auto trim = [](std::string_view s) {
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
    return s;
  };
  const auto bracket = text.find('[');
  std::string_view before = trim(text.substr(0, bracket));
  while (!before.empty() && is_name_character(before.back())) before.remove_suffix(1);  // the variable
  const std::size_t vector = bytes_of_vector(trim(before));
  std::size_t bytes = vector != 0 ? vector : bytes_of_type(trim(before));
  if (bytes == 0) return std::nullopt;
  for (auto open = bracket; open != text.npos; open = text.find('[', open + 1)) {
    const auto close = text.find(']', open);
    if (close == text.npos) return std::nullopt;
    const auto count = product_of_numbers(text.substr(open + 1, close - open - 1));
    if (!count) return std::nullopt;
    bytes *= *count;
  }
  return declared_array{bytes, vector > 8 ? vector : 8};
}

/// Adds up the __shared__ declarations of a piece of text; nothing if one of them cannot be read.
inline std::optional<std::size_t> sum_of_declarations(std::string_view text) {
  constexpr std::string_view mark = "__shared__", dynamic = "extern ";
  std::size_t sum = 0;
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size())) {
    if (text.substr(0, at).ends_with(dynamic)) continue;
    const auto end = text.find(';', at);
    if (end == text.npos) return std::nullopt;
    const auto found = bytes_of_declaration(text.substr(at + mark.size(), end - at - mark.size()));
    if (!found) return std::nullopt;
    sum = (sum + found->alignment - 1) / found->alignment * found->alignment + found->bytes;
  }
  return sum;
}

/// The end of the braces that open at `open`.
inline std::size_t end_of_braces(std::string_view text, std::size_t open) {
  int depth = 0;
  for (auto at = open; at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.size();
}

/// The text without its kernels.
inline std::string outside_of_kernels(std::string text) {
  for (auto at = text.find("__global__"); at != text.npos; at = text.find("__global__", at)) {
    const auto open = text.find('{', at);
    if (open == text.npos) break;
    text.erase(at, end_of_braces(text, open) - at);
  }
  return text;
}

}  // namespace detail

/// Bytes of shared memory that a kernel declares; nothing if that cannot be told without a compiler: if a function
/// outside of the kernels, or one of the `headers`, declares some, or a declaration is more than an array of numbers.
template <class Headers>
std::optional<std::size_t> declared_shared_bytes(std::string_view text, const std::string& kernel,
                                                 const Headers& headers) {
  for (const auto& header : headers)
    if (detail::sum_of_declarations(header.text) != std::size_t{0}) return std::nullopt;
  if (detail::sum_of_declarations(detail::outside_of_kernels(std::string(text))) != std::size_t{0}) return std::nullopt;
  const auto name = text.find(" " + kernel + "(");
  const auto open = name == text.npos ? text.npos : text.find('{', name);
  if (open == text.npos) return std::nullopt;
  return detail::sum_of_declarations(text.substr(open, detail::end_of_braces(text, open) - open));
}

}  // namespace emulate
