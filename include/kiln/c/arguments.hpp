// SPDX-License-Identifier: BSL-1.0
// What C gives, as what kiln takes: text, lists, types and options, each looked at before it is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/c/handles.hpp>
#include <kiln/dynamic/options.hpp>

namespace kiln::c {

/// Whether bytes are UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xc2 || lead > 0xf4 ? 4 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (more == 4 || text.size() - i <= more) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      // Only the second byte of some leads has a narrower range.
      const unsigned low = k > 1 ? 0x80u : lead == 0xe0 ? 0xa0u : lead == 0xf0 ? 0x90u : 0x80u;
      const unsigned high = k > 1 ? 0xbfu : lead == 0xed ? 0x9fu : lead == 0xf4 ? 0x8fu : 0xbfu;
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if (byte < low || byte > high) return false;
    }
    i += more + 1;
  }
  return true;
}

/// A text. Throws value_error for a null pointer and for what is no UTF-8.
inline std::string_view text_of(const char* text, const char* what) {
  if (!text) throw value_error(message("`", what, "` is a null pointer where a text is needed"));
  if (!is_utf8(text)) throw value_error(message("`", what, "` is no UTF-8 text: names are ASCII"));
  return text;
}

/// `n` things. Throws value_error for fewer than 0, and for a null pointer where there are some.
template <class T>
std::span<const T> list_of(const T* items, std::int32_t n, const char* what) {
  if (n < 0) throw value_error(message(n, " as the number of `", what, "`: give 0 or more"));
  if (n > 0 && !items) throw value_error(message("`", what, "` is a null pointer where there are ", n, " of them"));
  return {items, static_cast<std::size_t>(n)};
}
/// Sizes. Throws shape_error for more than there may be.
inline dims dims_of(const std::int64_t* sizes, std::int32_t n, const char* what = "sizes") {
  return dims(list_of(sizes, n, what));
}
/// What handles stand for, in their order. Throws handle_error.
template <class Handle>
auto all_of(const Handle* items, std::int32_t n, const char* what) {
  std::vector<typename handle_traits<Handle>::type> all;
  for (const Handle h : list_of(items, n, what)) all.push_back(get(h));
  return all;
}
/// A tensor, or one without a value for the null handle.
inline dynamic::tensor get_optional(kiln_tensor x) {
  return x.id ? get(x) : dynamic::tensor{};
}

static_assert(KILN_FLOAT64 == static_cast<int>(dtype::float64) && KILN_BFLOAT16 == static_cast<int>(dtype::bfloat16) &&
              KILN_INT64 == static_cast<int>(dtype::int64) && KILN_BOOL == static_cast<int>(dtype::boolean));
/// Throws dtype_error for a number that is no type's.
inline dtype type_of(kiln_dtype type) {
  if (type < 0 || type >= dtype_count)
    throw dtype_error(message(type, " is no element type: use KILN_BOOL to KILN_FLOAT64, 0 to ", dtype_count - 1));
  return static_cast<dtype>(type);
}

/// Throws value_error for an option without a name, one that is given twice, or of an unknown kind.
inline dynamic::options options_of(const kiln_option* options, std::int32_t n) {
  dynamic::options all;
  for (const kiln_option& each : list_of(options, n, "options")) {
    const std::string name(text_of(each.name, "name of an option"));
    if (all.find(name)) throw value_error(message("the option \"", name, "\" is given twice"));
    switch (each.kind) {
      case KILN_OPTION_INT:
        all.set(name, each.whole);
        break;
      case KILN_OPTION_FLOAT:
        all.set(name, each.number);
        break;
      case KILN_OPTION_BOOL:
        if (each.whole != 0 && each.whole != 1)
          throw value_error(message("the option \"", name, "\" is ", each.whole, ": give 0 or 1 for a bool"));
        all.set(name, each.whole == 1);
        break;
      case KILN_OPTION_TEXT:
        all.set(name, std::string(text_of(each.text, "text of an option")));
        break;
      case KILN_OPTION_INTS: {
        const auto list = list_of(each.whole_list, each.n_whole_list, "whole_list of an option");
        all.set(name, std::vector<std::int64_t>(list.begin(), list.end()));
        break;
      }
      default:
        throw value_error(message("the option \"", name, "\" is of kind ", each.kind, ": use a KILN_OPTION_"));
    }
  }
  return all;
}

}  // namespace kiln::c
