// SPDX-License-Identifier: BSL-1.0
// K objects in C++: references that count themselves, names of kinds for messages, makers and readers of values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/k/interface.hpp>

namespace kiln::k {

/// A reference to a K object that is given back with this one's end. Only for the thread that made the object.
class owned {
 public:
  owned() = default;
  /// Takes over the caller's reference; may be null.
  explicit owned(object x) : x_(x) {}
  /// One more reference to an object that stays the caller's.
  static owned share(object x) { return owned(r1(x)); }
  owned(owned&& other) noexcept : x_(other.release()) {}
  /// One more reference to the same object.
  owned(const owned& other) : x_(other.x_ ? r1(other.x_) : nullptr) {}
  owned& operator=(owned other) noexcept {
    std::swap(x_, other.x_);
    return *this;
  }
  ~owned() {
    if (x_) r0(x_);
  }
  object get() const { return x_; }
  /// Hands the reference to the caller.
  object release() { return std::exchange(x_, nullptr); }

 private:
  object x_ = nullptr;
};

/// Items of a list as a span; the caller has looked at its type.
template <class Item>
std::span<Item> span_of(object list) {
  return {items<Item>(list), static_cast<std::size_t>(list->count)};
}

/// What messages call a value: "long scalar", "double list", "general list", "kdictionary".
inline std::string kind_name(object x) {
  static constexpr std::string_view names[] = {
      "general", "boolean", "guid",      "",      "byte", "short",    "int",      "long",   "real",   "double",
      "char",    "symbol",  "timestamp", "month", "date", "datetime", "timespan", "minute", "second", "time"};
  const int type = x->type, code = type < 0 ? -type : type;
  if (code < 20) return std::string(names[code]) + (type < 0 ? " scalar" : " list");
  if (code < 77) return std::string("enumeration") + (type < 0 ? " scalar" : " list");
  switch (type) {
    case table_type:
      return "table";
    case dictionary_type:
      return "kdictionary";
    case lambda_type:
      return "lambda";
    case unary_type:
      return "null/unary primitive";
    case binary_type:
      return "binary primitive";
    case ternary_type:
      return "iterator";
    case projection_type:
      return "projection";
    case composition_type:
      return "composition";
    case foreign_type:
      return "dynamic load";
    default:
      return type < 98 ? "nested list" : "derived function";
  }
}

/// `::`, what functions run for their effect return.
inline object make_null() {
  object x = ka(unary_type);
  x->byte = 0;
  return x;
}

/// An interned symbol atom.
inline object make_symbol(std::string_view text) {
  return ks(sn(text.data(), static_cast<std::int64_t>(text.size())));
}

inline object make_text(std::string_view text) {
  return kpn(text.data(), static_cast<std::int64_t>(text.size()));
}

/// A 7h list.
inline object make_longs(std::span<const std::int64_t> values) {
  object list = ktn(long_type, static_cast<std::int64_t>(values.size()));
  std::ranges::copy(values, items<std::int64_t>(list));
  return list;
}

/// A 9h list.
inline object make_floats(std::span<const double> values) {
  object list = ktn(float_type, static_cast<std::int64_t>(values.size()));
  std::ranges::copy(values, items<double>(list));
  return list;
}

/// An 11h list.
inline object make_symbols(std::span<const std::string> values) {
  object list = ktn(symbol_type, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    items<const char*>(list)[i] = sn(values[i].data(), static_cast<std::int64_t>(values[i].size()));
  return list;
}

/// A general list of what the caller owned.
inline object make_list(std::vector<owned> values) {
  object list = ktn(mixed_type, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) items<object>(list)[i] = values[i].release();
  return list;
}

/// Symbols ! values; takes over `values`.
inline object make_dictionary(std::span<const std::string> names, object values) {
  return xD(make_symbols(names), values);
}

/// The text of a symbol atom or of a char list or atom.
inline std::optional<std::string_view> read_text(object x) {
  if (x->type == -symbol_type) return x->symbol;
  if (x->type == char_type) return std::string_view(items<char>(x), static_cast<std::size_t>(x->count));
  if (x->type == -char_type) return std::string_view(reinterpret_cast<const char*>(&x->byte), 1);
  return {};
}

/// A symbol atom's text.
inline std::optional<std::string_view> read_symbol(object x) {
  if (x->type != -symbol_type) return {};
  return x->symbol;
}

/// The texts of a symbol atom or list.
inline std::optional<std::vector<std::string>> read_symbols(object x) {
  if (x->type == -symbol_type) return std::vector<std::string>{x->symbol};
  if (x->type != symbol_type && !(x->type == mixed_type && x->count == 0)) return {};
  std::vector<std::string> texts;
  if (x->type == symbol_type)
    for (const char* text : span_of<const char*>(x)) texts.emplace_back(text);
  return texts;
}

/// A long atom; a short or int counts as one where `wide`.
inline std::optional<std::int64_t> read_long(object x, bool wide = true) {
  if (x->type == -long_type) return x->long_integer;
  if (wide && x->type == -int_type) return x->integer == null_int ? null_long : x->integer;
  if (wide && x->type == -short_type) return x->short_integer == null_short ? null_long : x->short_integer;
  return {};
}

/// The values of a long atom or list.
inline std::optional<std::vector<std::int64_t>> read_longs(object x) {
  if (x->type == -long_type) return std::vector{x->long_integer};
  if (x->type == long_type) return std::vector(span_of<std::int64_t>(x).begin(), span_of<std::int64_t>(x).end());
  return {};
}

/// A number for an option: long or float, no real.
inline std::optional<double> read_number(object x) {
  if (x->type == -float_type) return x->floating;
  if (const auto whole = read_long(x)) return *whole == null_long ? null_float : static_cast<double>(*whole);
  return {};
}

inline std::optional<bool> read_flag(object x) {
  if (x->type != -boolean_type) return {};
  return x->byte != 0;
}

/// An item of any list as an object of its own; of a dictionary, of its values.
/// @throws type error as text for what has no items.
inline owned item_of(object list, std::int64_t i) {
  switch (list->type) {
    case mixed_type:
      return owned::share(items<object>(list)[i]);
    case boolean_type:
      return owned(kb(items<std::uint8_t>(list)[i]));
    case byte_type:
      return owned(kg(items<std::uint8_t>(list)[i]));
    case short_type:
      return owned(kh(items<std::int16_t>(list)[i]));
    case int_type:
      return owned(ki(items<std::int32_t>(list)[i]));
    case long_type:
      return owned(kj(items<std::int64_t>(list)[i]));
    case real_type:
      return owned(ke(static_cast<double>(items<float>(list)[i])));
    case float_type:
      return owned(kf(items<double>(list)[i]));
    case char_type:
      return owned(kc(items<char>(list)[i]));
    case symbol_type:
      return owned(ks(items<const char*>(list)[i]));
    default:
      throw value_error(message("cannot take items of a ", kind_name(list)));
  }
}

}  // namespace kiln::k
