// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/png.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#if __has_include(<zlib.h>)
#include <zlib.h>

namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::uint32_t number_at(const std::string& from, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(from[at + i]);
  return number;
}
std::uint32_t zlib_crc(const std::string& of) {
  return static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(of.data()), static_cast<uInt>(of.size())));
}

}  // namespace

TEST_CASE("png: zlib finds the checksums right, and the rows in the stream, also of several blocks") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("kiln_test_picture_" + std::to_string(::getpid()) + ".png");
  struct size {
    std::uint32_t height, width;
    std::size_t channels;
  };
  for (const size& picture : {size{2, 3, 3}, size{1, 1, 1}, size{300, 200, 4}, size{5, 13106, 1}}) {
    const std::uint32_t height = picture.height, width = picture.width;
    const std::size_t channels = picture.channels;
    CAPTURE(height);
    std::vector<unsigned char> pixels(height * width * channels);
    std::iota(pixels.begin(), pixels.end(), static_cast<unsigned char>(250));
    kiln::k::write_png(path, height, width, channels, pixels.data());
    const std::string file = bytes_of(path);
    REQUIRE(file.size() > 8);
    CHECK(file.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    std::vector<std::string> kinds, contents;
    for (std::size_t at = 8; at < file.size();) {
      const std::size_t length = number_at(file, at);
      REQUIRE(at + 12 + length <= file.size());
      const std::string checked = file.substr(at + 4, 4 + length);
      CHECK(number_at(file, at + 8 + length) == zlib_crc(checked));
      kinds.push_back(checked.substr(0, 4));
      contents.push_back(checked.substr(4));
      at += 12 + length;
    }
    REQUIRE(kinds == std::vector<std::string>{"IHDR", "IDAT", "IEND"});
    CHECK(number_at(contents[0], 0) == width);
    CHECK(number_at(contents[0], 4) == height);
    CHECK(contents[0].substr(8) == std::string("\x08", 1) +
                                       (channels == 1   ? '\0'
                                        : channels == 3 ? '\2'
                                                        : '\6') +
                                       std::string(3, '\0'));
    std::string rows(height * (width * channels + 1) + 1, '?');
    uLongf length = rows.size();
    REQUIRE(uncompress(reinterpret_cast<Bytef*>(rows.data()), &length,
                       reinterpret_cast<const Bytef*>(contents[1].data()), contents[1].size()) == Z_OK);
    REQUIRE(length == rows.size() - 1);
    std::vector<unsigned char> read;
    for (std::size_t row = 0; row < height; ++row) {
      const std::string line = rows.substr(row * (width * channels + 1), width * channels + 1);
      CHECK(line[0] == '\0');
      read.insert(read.end(), line.begin() + 1, line.end());
    }
    CHECK(read == pixels);
  }
  std::filesystem::remove(path);
}
#endif
