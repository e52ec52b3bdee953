// SPDX-License-Identifier: BSL-1.0
// Parts of files never reach beyond them, and the section of a program is found in files of any content.
#include <kiln/device/cuda/compile/bundle_file.hpp>

#include "device/cuda/cache_folder.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

using namespace kiln::cuda;
using detail::file_part;

namespace {

struct kept_file {
  cuda_cache_test::folder folder;
  std::string path;
  explicit kept_file(const std::string& content) : path(folder.path() / "file") {
    std::ofstream(path, std::ios::binary) << content;
  }
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("bundle_file: reads stay within the part, whatever sizes are asked for") {
  const kept_file file("0123456789");
  const auto whole = file_part::whole(file.path);
  REQUIRE(whole);
  CHECK(whole->size() == 10);
  const auto part = whole->part(2, 5);
  REQUIRE(part);
  char read[5] = {};
  CHECK(part->read(read, 1, 4));
  CHECK(std::string(read) == "3456");
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK_FALSE(part->read(read, 2, 4));
  CHECK_FALSE(part->read(read, most, 2));
  CHECK_FALSE(part->read(read, 1, most));
  CHECK_FALSE(whole->part(4, most - 2));
  CHECK_FALSE(whole->part(11, 0));
  CHECK_FALSE(whole->table<int>(0, 3));
  CHECK_FALSE(whole->table<int>(0, most / 2));
  CHECK_FALSE(whole->table<int>(most, 1));
  CHECK(whole->table<char>(5, 5)->size() == 5);
  CHECK_FALSE(file_part::whole(file.path + " that is not there"));
}

TEST_CASE("bundle_file: a file that became shorter is read no further") {
  const kept_file file("0123456789");
  const auto whole = file_part::whole(file.path);
  std::ofstream(file.path, std::ios::binary) << "01";
  char read[10];
  CHECK_FALSE(whole->read(read, 0, 10));
}

TEST_CASE("bundle_file: a program without the section has none; nor have files that are no programs, or damaged") {
  CHECK_FALSE(detail::bundle_section_of("/proc/self/exe"));
  CHECK_FALSE(detail::bundle_section_of("/nowhere"));
  CHECK_FALSE(detail::bundle_section_of(kept_file("").path));
  CHECK_FALSE(detail::bundle_section_of(kept_file(std::string(5000, 'x')).path));
  const std::string head = content_of("/proc/self/exe").substr(0, 4096);
  CHECK_FALSE(detail::bundle_section_of(kept_file(head).path));  // its section headers are not there
  for (std::size_t at = 0; at < 64; ++at) {
    std::string wrong = head;
    wrong[at] = static_cast<char>(0xff);
    CHECK_FALSE(detail::bundle_section_of(kept_file(wrong).path));
  }
}

TEST_CASE("bundle_file: a section that objcopy added is found, with its content") {
  const kept_file content("what the section holds");
  cuda_cache_test::folder folder;
  const std::string copy = folder.path() / "copy";
  const std::string command = "objcopy --add-section .kiln_bundle='" + content.path +
                              "' --set-section-flags .kiln_bundle=noload,readonly /bin/true '" + copy + "' 2>/dev/null";
  if (std::system(command.c_str()) != 0) {
    MESSAGE("SKIPPED: no objcopy, or no /bin/true that it reads");
    return;
  }
  const auto section = detail::bundle_section_of(copy);
  REQUIRE(section);
  std::string read(section->size(), '\0');
  CHECK(section->read(read.data(), 0, read.size()));
  CHECK(read == "what the section holds");
}
