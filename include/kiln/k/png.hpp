// SPDX-License-Identifier: BSL-1.0
// A picture as a PNG file (ISO/IEC 15948), not compressed: so the library that q loads needs no other for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <kiln/io/atomic_file.hpp>

namespace kiln::k {

namespace detail {

inline void append_big_endian(std::string& to, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift & 0xff);
}
/// CRC-32, annex D of the standard.
inline std::uint32_t crc_of(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      all[i] = i;
      for (int bit = 0; bit < 8; ++bit) all[i] = all[i] & 1 ? 0xedb88320u ^ all[i] >> 1 : all[i] >> 1;
    }
    return all;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}
/// Length, kind, bytes, and the checksum of both.
inline std::string png_chunk(std::string_view kind, std::string_view bytes) {
  std::string chunk;
  append_big_endian(chunk, static_cast<std::uint32_t>(bytes.size()));
  const std::string checked = std::string(kind) + std::string(bytes);
  chunk += checked;
  append_big_endian(chunk, crc_of(checked));
  return chunk;
}
/// Bytes as a stream of zlib's (RFC 1950) in blocks that are stored as they are (RFC 1951, 3.2.4).
inline std::string stored(std::string_view bytes) {
  std::string stream("\x78\x01");
  std::uint32_t low = 1, high = 0;  // Adler-32
  for (char c : bytes) {
    low = (low + static_cast<unsigned char>(c)) % 65521;
    high = (high + low) % 65521;
  }
  for (std::size_t at = 0; at < bytes.size() || at == 0;) {
    const std::string_view block = bytes.substr(at, 65535);
    at += block.size();
    const auto length = static_cast<std::uint32_t>(block.size());
    stream += at == bytes.size() ? '\1' : '\0';
    for (std::uint32_t number : {length, ~length}) {
      stream += static_cast<char>(number & 0xff);
      stream += static_cast<char>(number >> 8 & 0xff);
    }
    stream += block;
    if (block.empty()) break;
  }
  append_big_endian(stream, high << 16 | low);
  return stream;
}

}  // namespace detail

/// Writes rows of pixels, each `channels` bytes: 1 is grey, 2 grey and opacity, 3 red, green and blue, 4 these and
/// opacity. `pixels` has height * width * channels bytes. Throws io_error.
inline void write_png(const std::filesystem::path& path, std::uint32_t height, std::uint32_t width,
                      std::size_t channels, const unsigned char* pixels) {
  static constexpr char color_types[] = {0, 0, 4, 2, 6};
  std::string header;
  detail::append_big_endian(header, width);
  detail::append_big_endian(header, height);
  header += {'\x08', color_types[channels], '\0', '\0', '\0'};
  std::string rows;
  rows.reserve(height * (width * channels + 1));
  for (std::size_t row = 0; row < height; ++row) {
    rows += '\0';  // as it is, without a filter
    rows.append(reinterpret_cast<const char*>(pixels) + row * width * channels, width * channels);
  }
  io::atomic_file file("png", path);
  file.write("\x89PNG\r\n\x1a\n");
  file.write(detail::png_chunk("IHDR", header));
  file.write(detail::png_chunk("IDAT", detail::stored(rows)));
  file.write(detail::png_chunk("IEND", ""));
  file.commit();
}

}  // namespace kiln::k
