// SPDX-License-Identifier: BSL-1.0
// IDX files of every element type as tensors; idx_file.test.cpp has the broken ones.
#include <kiln/data/idx.hpp>

#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using data::read_idx_tensor;

TEST_CASE("read_idx_tensor: every element type, big-endian as in the file") {
  const kiln_tests::scratch_directory dir;
  const auto file = [&](int type, const std::string& body, std::uint32_t n) {
    std::string bytes{'\0', '\0', static_cast<char>(type), '\1'};
    return dir.write("x", bytes + kiln_tests::be32(n) + body);
  };
  CHECK(read_idx_tensor<std::uint8_t>(file(0x08, "\xff\x01", 2))(0) == 255);
  CHECK(read_idx_tensor<std::int8_t>(file(0x09, "\xff\x01", 2))(0) == -1);
  CHECK(read_idx_tensor<std::int16_t>(file(0x0B, "\x12\x34", 1))(0) == 0x1234);
  CHECK(read_idx_tensor<std::int32_t>(file(0x0C, "\x12\x34\x56\x78", 1))(0) == 0x12345678);
  CHECK(read_idx_tensor<float>(file(0x0D, std::string("\x3f\xc0\x00\x00\xc0\x00\x00\x00", 8), 2))(0) == 1.5f);
  CHECK(read_idx_tensor<double>(file(0x0E, std::string("\xc0\x04\x00\x00\x00\x00\x00\x00", 8), 1))(0) == -2.5);
  CHECK_THROWS_WITH_AS(read_idx_tensor<float>(file(0x0E, "", 0)),
                       doctest::Contains("holds 64-bit floats (type 14), expected 32-bit floats"), io_error);
  CHECK_THROWS_WITH_AS(read_idx_tensor<double>(file(0x0E, "1234", 1)), doctest::Contains("ends after 4 of the 8"),
                       io_error);
}

TEST_CASE("read_idx_tensor: any rank, and no more axes than a tensor has") {
  const kiln_tests::scratch_directory dir;
  CHECK(read_idx_tensor<std::uint8_t>(dir.write("x", kiln_tests::idx_bytes({2, 0, 3}, {}))).sizes() == dims{2, 0, 3});
  CHECK(read_idx_tensor<std::uint8_t>(dir.write("x", kiln_tests::idx_bytes({}, {9}))).item() == 9);
  CHECK_THROWS_WITH_AS(
      read_idx_tensor<std::uint8_t>(dir.write("x", kiln_tests::idx_bytes({1, 1, 1, 1, 1, 1, 1, 1, 1}, {9}))),
      doctest::Contains("at most 8 axes"), shape_error);
}
