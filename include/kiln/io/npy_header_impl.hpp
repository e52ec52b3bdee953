// SPDX-License-Identifier: BSL-1.0
// The definitions of npy_header.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/io/npy_header.hpp>

namespace kiln::io {

namespace detail {

KILN_INLINE std::optional<std::uint64_t> bytes_of(dtype type, const dims& shape) {
  std::uint64_t total = size_of(type);
  bool overflow = false;
  for (const std::int64_t size : shape)
    if (size == 0) return 0;
  for (const std::int64_t size : shape)
    overflow |= __builtin_mul_overflow(total, static_cast<std::uint64_t>(size), &total);
  if (overflow || total >> 62 != 0) return std::nullopt;
  return total;
}

/// Reads the dictionary.
class npy_dictionary {
 public:
  npy_dictionary(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}
  void read(npy_header& into) {
    std::string descr;
    bool order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && descr.empty())
        descr = quoted();
      else if (key == "fortran_order" && !order)
        into.fortran_order = truth(), order = true;
      else if (key == "shape" && !shape)
        into.shape = numbers(), shape = true;
      else
        fail("has the key '" + printable(key) + "' more than once, or one that the format does not know");
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (descr.empty() || !order || !shape) fail("lacks one of the keys 'descr', 'fortran_order' and 'shape'");
    skip();
    if (!text_.empty()) fail("goes on after its dictionary");
    set_type(descr, into);
  }

 private:
  static std::string printable(const std::string& text) {
    std::string shown;
    for (const char c : text.substr(0, 32)) shown += c >= ' ' && c < 127 ? c : '?';
    return shown;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw io_error(message(place_, " is no good .npy file: its header ", what, "; write it again"));
  }
  void skip() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t' || text_[0] == '\r'))
      text_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("lacks a '") + c + "'");
  }
  std::string quoted() {
    skip();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) {
      if (!text_.empty() && text_[0] == '[')
        throw io_error(place_ + " holds records with several fields; save each field as an array of its own");
      fail("has no text where one is expected");
    }
    const char mark = text_[0];
    const std::size_t end = text_.find(mark, 1);
    if (end == text_.npos) fail("has a text that does not end");
    std::string inside(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool truth() {
    skip();
    for (const std::string_view word : {"True", "False"})
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return word == "True";
      }
    fail("says neither True nor False of 'fortran_order'");
  }
  dims numbers() {
    dims all;
    expect('(');
    while (!take(')')) {
      skip();
      std::int64_t n = 0;
      std::size_t digits = 0;
      bool overflow = false;
      for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits)
        overflow |= __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, text_[digits] - '0', &n);
      if (digits == 0 || overflow) fail("has a size that is no number from 0 to 2^63 - 1");
      text_.remove_prefix(digits);
      take('L');  // as Python 2 wrote them
      if (all.rank() == max_rank)
        throw io_error(message(place_, " holds an array of more than ", max_rank, " axes; reshape it to fewer"));
      all.push_back(n);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return all;
  }
  void set_type(const std::string& descr, npy_header& into) const {
    struct known {
      const char* code;
      dtype type;
    };
    static constexpr std::array<known, 9> types{{{"b1", dtype::boolean},
                                                 {"u1", dtype::uint8},
                                                 {"i1", dtype::int8},
                                                 {"i2", dtype::int16},
                                                 {"i4", dtype::int32},
                                                 {"i8", dtype::int64},
                                                 {"f2", dtype::float16},
                                                 {"f4", dtype::float32},
                                                 {"f8", dtype::float64}}};
    const char order = descr[0];
    const std::string_view code = std::string_view(descr).substr(1);
    for (const known& each : types)
      if (code == each.code && (order == '<' || order == '>' || order == '|' || order == '=')) {
        into.type = each.type;
        into.big_endian = order == '>' && size_of(each.type) > 1;
        return;
      }
    if (descr.find('O') != descr.npos)
      throw io_error(place_ + " holds Python objects, which only Python can read; save the numbers as an array");
    throw io_error(
        message(place_, " holds elements of type '", printable(descr),
                "'; bool, uint8, int8 to int64 and float16 to float64 can be read: convert it by .astype()"));
  }
  std::string_view text_;
  std::string place_;
};

}  // namespace detail

KILN_INLINE npy_header read_npy_header(std::string_view bytes, std::uint64_t file_size, const std::string& place) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != std::string_view("\x93NUMPY", 6))
    throw io_error(place +
                   " is no .npy file: it does not begin with the bytes \\x93NUMPY; give one that numpy.save wrote");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0)
    throw io_error(
        message(place, " is a .npy file of version ", version, ".", byte(7), "; 1.0, 2.0 and 3.0 can be read"));
  const std::size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) throw io_error(place + " ends inside its header; write it again");
  const std::size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > most_npy_header || length > file_size - begin || length > bytes.size() - begin)
    throw io_error(message(place, " announces a header of ", length, " bytes, more than there are; write it again"));
  npy_header header;
  header.data_offset = begin + length;
  detail::npy_dictionary(bytes.substr(begin, length), place).read(header);
  const auto data = detail::bytes_of(header.type, header.shape);
  if (!data || *data != file_size - header.data_offset)
    throw io_error(message(place, " announces an array of ", name(header.type), " of shape ", header.shape,
                           ", and has ", file_size - header.data_offset,
                           " bytes of elements; it is damaged or cut off"));
  return header;
}

KILN_INLINE std::string npy_header_of(dtype type, const dims& shape) {
  if (type == dtype::bfloat16)
    throw dtype_error("write_npy: NumPy has no bfloat16: save it as safetensors, or as float32 by cast<float>(x)");
  static constexpr std::array<const char*, dtype_count> codes{"|b1", "|u1", "|i1", "<i2", "<i4",
                                                              "<i8", "<f2", "",    "<f4", "<f8"};
  std::string text =
      std::string("{'descr': '") + codes[static_cast<std::size_t>(type)] + "', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  text += shape.rank() == 1 ? ",), }" : "), }";
  text.append(63 - (text.size() + 10) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace kiln::io
