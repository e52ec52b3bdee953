// SPDX-License-Identifier: BSL-1.0
// The IDX reader: good files, and one file per way of being broken.
#include <kiln/data/idx_file.hpp>

#include <support/child.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <string>

#include "support/sanitized.hpp"

using kiln::data::read_idx;
using kiln_tests::be32;
using kiln_tests::idx_bytes;
using kiln_tests::scratch_directory;

namespace {

/// The text of the io_error that reading `path` throws; empty if it throws none.
std::string error_of(const std::filesystem::path& path, std::size_t rank) {
  try {
    read_idx(path, rank);
  } catch (const kiln::io_error& e) {
    return e.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("read_idx: a plain and a compressed file give the same shape and bytes") {
  const scratch_directory dir;
  const std::string file = idx_bytes({2, 1, 3}, {1, 2, 3, 4, 5, 255});
  for (const auto& path : {dir.write("plain", file), dir.write_gz("packed.gz", file)}) {
    const kiln::data::idx_array array = read_idx(path, 3);
    CHECK(array.shape == std::vector<std::size_t>{2, 1, 3});
    CHECK(array.bytes == std::vector<std::uint8_t>{1, 2, 3, 4, 5, 255});
  }
}

TEST_CASE("read_idx: an empty array is a good file") {
  const scratch_directory dir;
  CHECK(read_idx(dir.write("none", idx_bytes({0, 28, 28}, {})), 3).bytes.empty());
}

TEST_CASE("read_idx: a body larger than one read block arrives whole") {
  const scratch_directory dir;
  std::vector<std::uint8_t> body((std::size_t{1} << 20) + 12345);
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::uint8_t>(i * 31 % 251);
  const auto path = dir.write_gz("big.gz", idx_bytes({static_cast<std::uint32_t>(body.size())}, body));
  CHECK((read_idx(path, 1).bytes == body));
}

TEST_CASE("read_idx: a missing file and a directory are named") {
  const scratch_directory dir;
  CHECK(has(error_of(dir.path() / "absent", 1), "there is no file"));
  CHECK(has(error_of(dir.path() / "absent", 1), "absent"));
  CHECK(has(error_of(dir.path(), 1), "is a directory"));
}

TEST_CASE("read_idx: every length of a cut file is an error that says so, never a short result") {
  const scratch_directory dir;
  const std::string whole = idx_bytes({2, 2}, {1, 2, 3, 4});
  for (std::size_t keep = 0; keep < whole.size(); ++keep) {
    CAPTURE(keep);
    const std::string text = error_of(dir.write("cut", whole.substr(0, keep)), 2);
    if (keep < 4)
      CHECK(has(text, "of the 4 bytes an IDX file starts with"));
    else if (keep < 12)
      CHECK(has(text, "ends inside its header"));
    else
      CHECK(has(text, kiln::message("ends after ", keep - 12, " of the 4 bytes that its header announces")));
  }
}

TEST_CASE("read_idx: every length of a cut gzip stream is an error") {
  const scratch_directory dir;
  std::vector<std::uint8_t> body(300);
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::uint8_t>(i * i * 7 % 253);
  const auto path = dir.write_gz("whole.gz", idx_bytes({300}, body));
  const std::string packed = kiln_tests::slurp(path);
  REQUIRE(error_of(path, 1).empty());
  for (std::size_t keep = 0; keep < packed.size(); ++keep) {
    CAPTURE(keep);
    CHECK_FALSE(error_of(dir.write("cut.gz", packed.substr(0, keep)), 1).empty());
  }
  CHECK(has(error_of(dir.write("cut.gz", packed.substr(0, packed.size() / 2)), 1), "damaged or cut off"));
}

TEST_CASE("read_idx: a flipped byte in a gzip stream is an error") {
  const scratch_directory dir;
  std::vector<std::uint8_t> body(300);
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::uint8_t>(i * i * 7 % 253);
  const std::string packed = kiln_tests::slurp(dir.write_gz("whole.gz", idx_bytes({300}, body)));
  // Bytes 4 to 9 of a gzip header (time, flags, system) carry nothing that could be wrong.
  for (std::size_t i = 10; i < packed.size(); ++i) {
    CAPTURE(i);
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    CHECK_FALSE(error_of(dir.write("damaged.gz", damaged), 1).empty());
  }
  std::string checksum = packed;
  checksum[packed.size() - 8] = static_cast<char>(checksum[packed.size() - 8] ^ 1);
  CHECK(has(error_of(dir.write("checksum.gz", checksum), 1), "damaged or cut off"));
}

TEST_CASE("read_idx: bytes behind the data are an error, plain and compressed") {
  const scratch_directory dir;
  const std::string longer = idx_bytes({2}, {1, 2}) + "x";
  CHECK(has(error_of(dir.write("long", longer), 1), "goes on after the 2 bytes"));
  CHECK(has(error_of(dir.write_gz("long.gz", longer), 1), "goes on after the 2 bytes"));
}

TEST_CASE("read_idx: wrong magic, element type and rank say what was found and expected") {
  const scratch_directory dir;
  CHECK(has(error_of(dir.write("png", "\x89PNG\r\n"), 3), "is no IDX file: it starts with the bytes 137 80"));
  std::string floats = idx_bytes({1}, {7});
  floats[2] = 0x0D;
  CHECK(has(error_of(dir.write("floats", floats), 1), "holds 32-bit floats (type 13), expected unsigned bytes"));
  floats[2] = 0x42;
  CHECK(has(error_of(dir.write("floats", floats), 1), "holds an unknown type (type 66)"));
  CHECK(has(error_of(dir.write("labels", idx_bytes({1}, {7})), 3), "has rank 1, expected 3"));
}

TEST_CASE("read_idx: sizes whose product overflows are an error before any memory is asked for") {
  const scratch_directory dir;
  const std::string head{'\0', '\0', '\x08', '\x03'};
  const std::uint32_t most = 0xFFFFFFFFU;
  CHECK(has(error_of(dir.write("vast", head + be32(most) + be32(most) + be32(most)), 3), "overflows at axis 1"));
  // Fits a 64-bit size, yet no machine holds it.
  CHECK(has(error_of(dir.write("large", head + be32(most) + be32(28) + be32(28) + "abc"), 3),
            "announces 3367254359280 bytes, more than the 1073741824 that are read"));
  CHECK(has(error_of(dir.write("larger", head + be32(100) + be32(280) + be32(280) + "abc"), 3),
            "announces 7840000 bytes, which a file of 19 bytes cannot hold"));
  CHECK(has(error_of(dir.write("short", head + be32(1) + be32(28) + be32(28) + "abc"), 3), "ends after 3 of the 784"));
}

TEST_CASE("read_idx: a small file that inflates to more than is read is an error before any of it is read") {
  const scratch_directory dir;
  const std::string head{'\0', '\0', '\x08', '\x01'};
  const auto path = dir.write_gz("bomb.gz", head + be32(3u << 30) + std::string(std::size_t{8} << 20, '\0'));
  REQUIRE(std::filesystem::file_size(path) < 10000);
  CHECK(has(error_of(path, 1), "more than the 1073741824 that are read"));
  // What announces less than it inflates to is read no further than that.
  CHECK(has(error_of(dir.write_gz("long.gz", head + be32(5) + std::string(std::size_t{8} << 20, '\0')), 1),
            "goes on after the 5 bytes"));
  CHECK_THROWS_AS(read_idx(dir.write("five", idx_bytes({5}, {1, 2, 3, 4, 5})), 1, 4), kiln::io_error);
  CHECK(read_idx(dir.write("five", idx_bytes({5}, {1, 2, 3, 4, 5})), 1, 5).bytes.size() == 5);
}

TEST_CASE("read_idx: memory that is not there is an io_error") {
  if (test::sanitized) return;  // they have more addresses than the limit below from the start
  const scratch_directory dir;
  const std::size_t size = std::size_t{512} << 20;
  const auto path = dir.write("vast", idx_bytes({static_cast<std::uint32_t>(size)}, {}));
  std::filesystem::resize_file(path, size + 8);  // a hole
  CHECK(kiln::support::run_in_child([&] {
          const rlimit most{std::size_t{256} << 20, std::size_t{256} << 20};
          if (setrlimit(RLIMIT_AS, &most) != 0) return 77;
          return has(error_of(path, 1), "there is no memory for more than") ? 0 : 1;
        }) == 0);
}

TEST_CASE("read_idx: a pipe and a device are errors at once") {
  const scratch_directory dir;
  REQUIRE(mkfifo((dir.path() / "pipe").c_str(), 0600) == 0);
  CHECK(has(error_of(dir.path() / "pipe", 1), "is a pipe or a device"));
  CHECK(has(error_of("/dev/zero", 1), "is a pipe or a device"));
}
