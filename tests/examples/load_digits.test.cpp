// SPDX-License-Identifier: BSL-1.0
// How the examples find their files of digits, split them, and refuse sets that do not fit together.
#include "../../examples/support/load_digits.hpp"

#include <kiln/core/error.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using kiln_tests::idx_bytes;
using kiln_tests::scratch_directory;

namespace {

/// `count` images; image i has all pixels equal to i.
std::string images(std::uint32_t count, std::uint32_t side = 28) {
  std::vector<std::uint8_t> body;
  for (std::uint32_t i = 0; i < count; ++i)
    body.insert(body.end(), std::size_t{side} * side, static_cast<std::uint8_t>(i));
  return idx_bytes({count, side, side}, body);
}
std::string labels(std::uint32_t count) {
  std::vector<std::uint8_t> body;
  for (std::uint32_t i = 0; i < count; ++i) body.push_back(static_cast<std::uint8_t>(i % 10));
  return idx_bytes({count}, body);
}

std::string error_of(const std::filesystem::path& directory) {
  try {
    mnist::load_digits(directory);
  } catch (const kiln::io_error& e) {
    return e.what();
  }
  return "";
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("load_digits: with one set only, the first four fifths train and the rest tests") {
  for (const char* prefix : {"t10k", "train"}) {
    const scratch_directory dir;
    dir.write(std::string(prefix) + "-images-idx3-ubyte", images(20));
    dir.write(std::string(prefix) + "-labels-idx1-ubyte", labels(20));
    const mnist::digit_data data = mnist::load_digits(dir.path());
    REQUIRE(data.train.size() == 16);
    REQUIRE(data.test.size() == 4);
    CHECK(data.train.pixels.size() == 16 * 784);
    CHECK(data.train.pixels.back() == 15);
    CHECK(data.test.pixels.front() == 16);
    CHECK(data.test.labels == std::vector<std::uint8_t>{6, 7, 8, 9});
  }
}

TEST_CASE("load_digits: with both sets, train-* trains and t10k-* tests, under every spelling") {
  for (const char* dot : {"-", "."})
    for (const bool packed : {false, true}) {
      const scratch_directory dir;
      const auto put = [&](const std::string& name, const std::string& bytes) {
        packed ? dir.write_gz(name + "-ubyte.gz", bytes) : dir.write(name + "-ubyte", bytes);
      };
      put(std::string("train-images") + dot + "idx3", images(7));
      put(std::string("train-labels") + dot + "idx1", labels(7));
      put(std::string("t10k-images") + dot + "idx3", images(3));
      put(std::string("t10k-labels") + dot + "idx1", labels(3));
      const mnist::digit_data data = mnist::load_digits(dir.path());
      CHECK(data.train.size() == 7);
      CHECK(data.test.size() == 3);
      CHECK(data.test.pixels.size() == 3 * 784);
    }
}

TEST_CASE("load_digits: a missing directory and an empty one say how to run without data") {
  const scratch_directory dir;
  CHECK(has(error_of(dir.path() / "absent"), "there is no directory"));
  CHECK(has(error_of(dir.path() / "absent"), "without --data"));
  CHECK(has(error_of(dir.path()), "holds neither t10k-images-idx3-ubyte"));
  CHECK(has(error_of(dir.path()), "without --data"));
}

TEST_CASE("load_digits: half a set names the file that is missing") {
  const scratch_directory dir;
  dir.write("t10k-images-idx3-ubyte", images(5));
  CHECK(has(error_of(dir.path()), "but not t10k-labels-idx1"));
  const scratch_directory other;
  other.write("train-labels-idx1-ubyte", labels(5));
  CHECK(has(error_of(other.path()), "but not train-images-idx3"));
}

TEST_CASE("load_digits: sets that do not fit together are refused") {
  const auto error_with = [](const std::string& image_file, const std::string& label_file) {
    const scratch_directory dir;
    dir.write("t10k-images-idx3-ubyte", image_file);
    dir.write("t10k-labels-idx1-ubyte", label_file);
    return error_of(dir.path());
  };
  CHECK(has(error_with(images(6), labels(5)), "6 images"));
  CHECK(has(error_with(images(6), labels(5)), "5 labels"));
  CHECK(has(error_with(images(6, 27), labels(6)), "27 x 27 pixels, expected 28 x 28"));
  CHECK(has(error_with(images(0), labels(0)), "holds no images"));
  CHECK(has(error_with(images(4), labels(4)), "too few to split"));
  CHECK(has(error_with(images(6), idx_bytes({6}, {0, 1, 2, 3, 10, 5})), "label 4"));
  CHECK(has(error_with(images(6), idx_bytes({6}, {0, 1, 2, 3, 10, 5})), "is 10, expected 0 to 9"));
  CHECK(has(error_with(labels(6), images(6)), "swapped files?"));
}

TEST_CASE("load_digits: a directory that the system does not look into is an io_error that says so") {
  const scratch_directory dir;
  std::filesystem::create_directory_symlink("loop", dir.path() / "loop");
  CHECK_THROWS_WITH_AS(mnist::load_digits(dir.path() / "loop"), doctest::Contains("cannot look at"), kiln::io_error);
  std::filesystem::create_symlink("train-images-idx3-ubyte", dir.path() / "train-images-idx3-ubyte");
  CHECK_THROWS_WITH_AS(mnist::load_digits(dir.path()), doctest::Contains("cannot look at"), kiln::io_error);
}
