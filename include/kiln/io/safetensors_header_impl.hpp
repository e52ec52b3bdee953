// SPDX-License-Identifier: BSL-1.0
// The definitions of safetensors_header.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if !defined(KILN_COMPILED) || __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif

#include <kiln/io/npy_header.hpp>
#include <kiln/io/safetensors_header.hpp>

namespace kiln::io {

namespace detail {

struct safetensors_type {
  const char* code;
  dtype type;
};
inline constexpr std::array<safetensors_type, dtype_count> safetensors_types{{{"BOOL", dtype::boolean},
                                                                              {"U8", dtype::uint8},
                                                                              {"I8", dtype::int8},
                                                                              {"I16", dtype::int16},
                                                                              {"I32", dtype::int32},
                                                                              {"I64", dtype::int64},
                                                                              {"F16", dtype::float16},
                                                                              {"BF16", dtype::bfloat16},
                                                                              {"F32", dtype::float32},
                                                                              {"F64", dtype::float64}}};

/// A text for an error: short, and without what a terminal would obey.
KILN_INLINE std::string shown(const std::string& text) {
  std::string safe;
  for (const char c : text.substr(0, 80)) safe += static_cast<unsigned char>(c) >= ' ' && c != 127 ? c : '?';
  return text.size() > 80 ? safe + "..." : safe;
}

/// Whether a text is UTF-8: no byte out of place, no longer form than is needed, no half of a pair of UTF-16.
KILN_INLINE bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned>(static_cast<unsigned char>(text[k])); };
    const unsigned first = byte(i);
    const std::size_t more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : 4;
    if (more == 4 || text.size() - i <= more) return false;
    unsigned code = more == 0 ? first : first & (0x3fu >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      if (byte(i + k) >> 6 != 2) return false;
      code = code << 6 | (byte(i + k) & 0x3f);
    }
    static constexpr std::array<unsigned, 4> least{0, 0x80, 0x800, 0x10000};
    if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += more + 1;
  }
  return true;
}
/// A text as JSON has it.
KILN_INLINE std::string json_text(const std::string& text) {
  if (!is_utf8(text))
    throw value_error(message("write_safetensors: the name or text '", shown(text), "' is not UTF-8: use another"));
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') json += '\\';
    if (byte >= 0x20)
      json += c;
    else
      (json += "\\u00") += {digits[byte >> 4], digits[byte & 15]};
  }
  return json + '"';
}

#if !defined(KILN_COMPILED) || __has_include(<nlohmann/json.hpp>)
/// Takes the events of the JSON's parser, which keeps no tree: {name: {dtype, shape, data_offsets}, __metadata__:
/// {...}}.
class safetensors_reader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  safetensors_header header;
  std::string problem;  ///< set where one of these functions returned false

  bool start_object(std::size_t) {
    if (depth_ == 0) return ++depth_, true;
    if (depth_ != 1) return fail("nests deeper than the format does");
    ++depth_;
    in_metadata_ = key_ == "__metadata__";
    if (!in_metadata_) {
      entry_ = {};
      entry_.name = key_;
      have_ = {};
    }
    return true;
  }
  bool end_object() {
    --depth_;
    if (depth_ != 1) return true;
    if (!std::exchange(in_metadata_, false)) {
      if (!(have_[0] && have_[1] && have_[2])) return fail(of_entry() + " lacks its dtype, shape or data_offsets");
      header.entries.push_back(std::move(entry_));
    }
    return true;
  }
  bool key(string_t& text) {
    key_ = text;
    return true;
  }
  bool string(string_t& text) {
    if (in_metadata_) {
      if (!header.metadata.emplace(key_, text).second) return fail("has the metadata '" + shown(key_) + "' twice");
      return true;
    }
    if (depth_ != 2 || in_list_ || key_ != "dtype") return fail("has a text '" + shown(text) + "' where none belongs");
    if (std::exchange(have_[0], true)) return fail(of_entry() + " has two dtypes");
    for (const safetensors_type& each : safetensors_types)
      if (text == each.code) return entry_.type = each.type, true;
    return fail(of_entry() + " is of " + shown(text) +
                ", which kiln has not: BOOL, U8, I8 to I64, F16, BF16, F32 and F64 can be read; convert it");
  }
  bool start_array(std::size_t) {
    if (depth_ != 2 || in_list_ || in_metadata_ || (key_ != "shape" && key_ != "data_offsets"))
      return fail("has a list where none belongs");
    in_list_ = true;
    offsets_ = 0;
    if (std::exchange(have_[key_ == "shape" ? 1 : 2], true)) return fail(of_entry() + " has its " + key_ + " twice");
    return true;
  }
  bool end_array() {
    in_list_ = false;
    if (key_ == "data_offsets" && offsets_ != 2) return fail(of_entry() + " has not two data_offsets");
    return true;
  }
  bool number_unsigned(number_unsigned_t value) {
    if (!in_list_) return fail("has a number where none belongs");
    if (key_ == "shape") {
      if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
        return fail(of_entry() + " has a size above 2^63");
      if (entry_.shape.rank() == max_rank)
        return fail(of_entry() + " has more than " + std::to_string(max_rank) + " axes; reshape it to fewer");
      entry_.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (offsets_ == 2) return fail(of_entry() + " has more than two data_offsets");
    (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    return true;
  }
  bool number_integer(number_integer_t) { return fail("has a negative number"); }
  bool number_float(number_float_t, const string_t&) { return fail("has a number that is not whole"); }
  bool boolean(bool) { return fail("has a truth value, which the format has not"); }
  bool null() { return fail("has a null, which the format has not"); }
  bool binary(binary_t&) { return fail("has bytes, which the format has not"); }
  template <class Problem>
  bool parse_error(std::size_t at, const std::string&, const Problem&) {
    return fail("is no JSON from byte " + std::to_string(at) + " of it on");
  }

 private:
  std::string of_entry() const { return "says of tensor '" + shown(entry_.name) + "' what can't be: it"; }
  bool fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  safetensors_entry entry_;
  std::array<bool, 3> have_{};
  std::string key_;
  int depth_ = 0, offsets_ = 0;
  bool in_metadata_ = false, in_list_ = false;
};

/// Reads the tensors and texts that the JSON names. Returns what is wrong with it, nothing if all is well.
KILN_INLINE std::string read_json(std::string_view json, safetensors_header& into, const std::string&) {
  safetensors_reader reader;
  bool good = false;
  try {
    good = nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  } catch (const nlohmann::json::exception&) {
  }
  if (!good) return reader.problem.empty() ? "is no JSON" : reader.problem;
  into = std::move(reader.header);
  return {};
}
#else
// The library was built where nlohmann-json was not.
KILN_INLINE std::string read_json(std::string_view, safetensors_header&, const std::string& place) {
  throw value_error(message(place,
                            ": this kiln::compiled reads no .safetensors files, as nlohmann-json was not there when "
                            "it was built: install it (Debian: nlohmann-json3-dev), and build it again"));
}
#endif

}  // namespace detail

KILN_INLINE std::uint64_t safetensors_header_length(std::string_view first, std::uint64_t file_size,
                                                    const std::string& place) {
  if (first.size() < 8)
    throw io_error(message(place, " has ", first.size(), " bytes and is no .safetensors file; fetch it again"));
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(first[static_cast<std::size_t>(i)]);
  if (length > most_safetensors_header || length > file_size - 8)
    throw io_error(message(place, " announces a header of ", length, " bytes in a file of ", file_size,
                           "; it is no .safetensors file, damaged or cut off"));
  return length;
}

KILN_INLINE safetensors_header read_safetensors_header(std::string_view json, std::uint64_t file_size,
                                                       const std::string& place) {
  const auto fail = [&](const auto&... parts) {
    throw io_error(message(place, " is no good .safetensors file: its header ", parts..., "; write it again"));
  };
  if (!json.starts_with('{')) fail("does not begin with a {");
  safetensors_header header;
  if (const std::string problem = detail::read_json(json, header, place); !problem.empty()) fail(problem);
  header.data_offset = 8 + json.size();
  auto& all = header.entries;
  std::vector<const std::string*> names;
  for (const safetensors_entry& e : all) names.push_back(&e.name);
  std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a < *b; });
  for (std::size_t i = 1; i < names.size(); ++i)
    if (*names[i - 1] == *names[i]) fail("has the tensor '", detail::shown(*names[i]), "' twice");
  std::sort(all.begin(), all.end(), [](const safetensors_entry& a, const safetensors_entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  const std::uint64_t data = file_size - header.data_offset;
  for (const safetensors_entry& e : all) {
    const std::string which = "places the tensor '" + detail::shown(e.name) + "' ";
    if (e.begin > e.end || e.end > data)
      fail(which, "from byte ", e.begin, " to ", e.end, " of ", data, ": outside of the file, which may be cut off");
    if (e.begin != at)
      fail(which, "at byte ", e.begin, ", and what is before it ends at ", at, ": no gap or overlap may be");
    const auto bytes = detail::bytes_of(e.type, e.shape);
    if (!bytes || *bytes != e.end - e.begin)
      fail(which, "in ", e.end - e.begin, " bytes, which are not those of ", name(e.type), " of shape ", e.shape);
    at = e.end;
  }
  if (at != data) fail("places tensors in ", at, " bytes, and there are ", data);
  return header;
}

KILN_INLINE std::string safetensors_header_of(std::vector<safetensors_entry>& entries, const text_map& metadata) {
  // The widest types first, so that each tensor is at a multiple of its width.
  std::stable_sort(entries.begin(), entries.end(), [](const safetensors_entry& a, const safetensors_entry& b) {
    return size_of(a.type) > size_of(b.type);
  });
  std::string json = "{";
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata)
      json += (json.back() == '{' ? "" : ",") + detail::json_text(key) + ":" + detail::json_text(value);
    json += '}';
  }
  std::uint64_t at = 0;
  for (safetensors_entry& e : entries) {
    if (e.name == "__metadata__")
      throw value_error(
          "write_safetensors: a tensor can't be called __metadata__, which the format needs: use another name");
    e.begin = at;
    e.end = at += size_of(e.type) * static_cast<std::uint64_t>(count(e.shape));
    json += (json.back() == '{' && json.size() == 1 ? "" : ",") + detail::json_text(e.name) + ":{\"dtype\":\"" +
            detail::safetensors_types[static_cast<std::size_t>(e.type)].code + "\",\"shape\":[";
    for (int i = 0; i < e.shape.rank(); ++i) json += (i ? "," : "") + std::to_string(e.shape[i]);
    json += "],\"data_offsets\":[" + std::to_string(e.begin) + "," + std::to_string(e.end) + "]}";
  }
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string first;
  for (int i = 0; i < 8; ++i) first += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return first + json;
}

}  // namespace kiln::io
