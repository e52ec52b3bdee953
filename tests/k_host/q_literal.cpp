// SPDX-License-Identifier: BSL-1.0
// Numeric literals: the last word's suffix is the type of all; without one, any word with a point makes floats.
#include "q_literal.hpp"

#include <algorithm>
#include <cstdlib>

namespace k_host {

namespace {

constexpr const char* suffixes = "hijefpmdznuvt";
constexpr int suffix_types[] = {k::short_type,     k::int_type,    k::long_type, k::real_type,     k::float_type,
                                k::timestamp_type, k::month_type,  k::date_type, k::datetime_type, k::timespan_type,
                                k::minute_type,    k::second_type, k::time_type};

bool all_of(const std::string& text, const char* allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string::npos;
}

value bytes_literal(const std::string& digits) {
  std::string even = digits.size() % 2 ? "0" + digits : digits;
  if (!even.empty() && !all_of(even, "0123456789abcdefABCDEF")) throw q_error("0x" + digits);
  const auto byte = [&](std::size_t i) { return std::strtol(even.substr(2 * i, 2).c_str(), nullptr, 16); };
  if (even.size() == 2) return value(k::kg(static_cast<int>(byte(0))));
  value x(k::ktn(k::byte_type, static_cast<integer>(even.size() / 2)));
  for (std::size_t i = 0; i < even.size() / 2; ++i) store(x.get(), static_cast<integer>(i), {k::byte_type, byte(i), 0});
  return x;
}

value booleans_literal(const std::string& digits) {
  if (digits.size() == 1) return boolean_atom(digits == "1");
  value x(k::ktn(k::boolean_type, static_cast<integer>(digits.size())));
  for (std::size_t i = 0; i < digits.size(); ++i) {
    store(x.get(), static_cast<integer>(i), {k::boolean_type, digits[i] == '1', 0});
  }
  return x;
}

/// Days of 2020.01.31, minutes, seconds or milliseconds of 10:30, 10:30:01, 10:30:01.250; type 0 if word is none.
number temporal(const std::string& word) {
  int a = 0, b = 0, c = 0, d = 0, used = 0;
  const char* text = word.c_str();
  const auto whole = [&] { return used == static_cast<int>(word.size()); };
  if (std::sscanf(text, "%4d.%2d.%2d%n", &a, &b, &c, &used) == 3 && whole()) return {k::date_type, k::ymd(a, b, c), 0};
  if (std::sscanf(text, "%4d.%2dm%n", &a, &b, &used) == 2 && whole())
    return {k::month_type, 12 * (a - 2000) + b - 1, 0};
  if (std::sscanf(text, "%2d:%2d:%2d.%3d%n", &a, &b, &c, &d, &used) == 4 && whole()) {
    return {k::time_type, 1000 * (60 * (60 * a + b) + c) + d, 0};
  }
  if (std::sscanf(text, "%2d:%2d:%2d%n", &a, &b, &c, &used) == 3 && whole()) {
    return {k::second_type, 60 * (60 * a + b) + c, 0};
  }
  if (std::sscanf(text, "%2d:%2d%n", &a, &b, &used) == 2 && whole()) return {k::minute_type, 60 * a + b, 0};
  return {0, 0, 0};
}

/// A word without its suffix; type long or float.
number plain(const std::string& word, int type) {
  const bool negative = word[0] == '-';
  const std::string rest = word.substr(negative);
  const double sign = negative ? -1 : 1;
  if (rest == "0n") return {k::float_type, 0, k::null_float};
  if (rest == "0w") return {k::float_type, 0, sign * k::infinite_float};
  const bool real = number{type, 0, 0}.is_real();
  if (rest == "0N") return {real ? k::float_type : k::long_type, k::null_long, k::null_float};
  if (rest == "0W") {
    const integer largest = item_size(type) == 2   ? k::infinite_short
                            : item_size(type) == 4 ? integer{k::infinite_int}
                                                   : k::infinite_long;
    return {real ? k::float_type : k::long_type, negative ? -largest : largest, sign * k::infinite_float};
  }
  char* end = nullptr;
  if (rest.find_first_of(".e") == std::string::npos) {
    const long long whole = std::strtoll(word.c_str(), &end, 10);
    if (*end == 0) return {k::long_type, whole, 0};
  } else {
    const double x = std::strtod(word.c_str(), &end);
    if (*end == 0) return {k::float_type, 0, x};
  }
  throw q_error(word);
}

}  // namespace

value literal_of(const std::vector<std::string>& words) {
  const std::string& last = words.back();
  if (words.size() == 1) {
    if (last.rfind("0x", 0) == 0) return bytes_literal(last.substr(2));
    if (last.back() == 'b' && all_of(last.substr(0, last.size() - 1), "01")) {
      return booleans_literal(last.substr(0, last.size() - 1));
    }
  }
  int type = 0;
  std::vector<number> numbers;
  const number first_temporal = temporal(words[0]);
  if (first_temporal.type == 0 && last.size() > 1) {
    if (const char* found = std::find(suffixes, suffixes + 13, last.back()); found != suffixes + 13) {
      if (last != "0n" && last != "-0n") type = suffix_types[found - suffixes];
    }
  }
  for (auto& word : words) {
    const bool suffixed = type != 0 && &word == &last;
    number n = first_temporal.type ? temporal(word) : plain(suffixed ? word.substr(0, word.size() - 1) : word, type);
    if (n.type == 0 && word == "0N") n = {first_temporal.type, k::null_long, 0};
    if (n.type == 0) throw q_error(word);
    numbers.push_back(n);
  }
  if (type == 0) type = first_temporal.type;
  for (auto& n : numbers) {
    if (type == 0 && n.type == k::float_type) type = k::float_type;
  }
  if (type == 0) type = k::long_type;
  if (numbers.size() == 1) return atom_of(converted(numbers[0], type));
  value x(k::ktn(type, static_cast<integer>(numbers.size())));
  for (std::size_t i = 0; i < numbers.size(); ++i) store(x.get(), static_cast<integer>(i), numbers[i]);
  return x;
}

}  // namespace k_host
