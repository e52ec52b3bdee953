// SPDX-License-Identifier: BSL-1.0
// input_file and mapped_file: bytes of plain files, and what is none.
#include <kiln/io/mapped_file.hpp>

#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <sys/stat.h>

using kiln::io_error;
using kiln::io::input_file;
using kiln::io::mapped_file;

TEST_CASE("mapped_file: the bytes of a file, of which a copy is written") {
  const kiln_tests::scratch_directory dir;
  const auto path = dir.write("x", "hello");
  {
    const mapped_file map(input_file("test", path));
    CHECK(std::string(map.data(), map.size()) == "hello");
    map.data()[0] = 'j';
    CHECK(std::string(map.data(), map.size()) == "jello");
  }
  CHECK(kiln_tests::slurp(path) == "hello");
  const mapped_file none(input_file("test", dir.write("none", "")));
  CHECK(none.size() == 0);
}

TEST_CASE("input_file: any bytes of it, and no more") {
  const kiln_tests::scratch_directory dir;
  const input_file file("test", dir.write("x", "hello"));
  std::string part(3, '\0');
  file.read(1, part.data(), 3);
  CHECK(part == "ell");
  CHECK(file.beginning(9) == "hello");
  CHECK_THROWS_WITH_AS(file.read(3, part.data(), 3), doctest::Contains("ends after 5 bytes"), io_error);
}

TEST_CASE("input_file: what is no plain file") {
  const kiln_tests::scratch_directory dir;
  CHECK_THROWS_WITH_AS(input_file("test", dir.path() / "absent"), doctest::Contains("test: there is no file"),
                       io_error);
  CHECK_THROWS_WITH_AS(input_file("test", dir.path()), doctest::Contains("is a directory"), io_error);
  CHECK_THROWS_WITH_AS(input_file("test", "/dev/zero"), doctest::Contains("is a pipe or a device"), io_error);
  REQUIRE(::mkfifo((dir.path() / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(input_file("test", dir.path() / "pipe"), doctest::Contains("is a pipe or a device"), io_error);
}
