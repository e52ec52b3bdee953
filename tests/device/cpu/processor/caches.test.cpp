// SPDX-License-Identifier: BSL-1.0
// The sizes of caches: how what the system says is read, and that what comes out can be relied on.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <kiln/device/cpu/processor/caches.hpp>

#include "support/system_files.hpp"

using namespace kiln;

namespace {

void describe_cache(const support::system_files& files, int index, const std::string& type, int level,
                    const std::string& size) {
  const std::string folder = "/index" + std::to_string(index);
  files.write(folder + "/type", type + "\n");
  files.write(folder + "/level", std::to_string(level) + "\n");
  files.write(folder + "/size", size + "\n");
}

}  // namespace

TEST_CASE("caches: sizes with units are bytes, and what is no size is none") {
  CHECK(cpu::process::parse_cache_size("48K") == 49152);
  CHECK(cpu::process::parse_cache_size("2M") == 2097152);
  CHECK(cpu::process::parse_cache_size("512") == 512);
  CHECK(cpu::process::parse_cache_size("1G") == 1073741824);
  CHECK(cpu::process::parse_cache_size("") == 0);
  CHECK(cpu::process::parse_cache_size("K") == 0);
  CHECK(cpu::process::parse_cache_size("-4K") == 0);
}

TEST_CASE("caches: the files of Linux are read by level, and caches of instructions are left out") {
  const support::system_files files;
  const auto none = cpu::process::read_cache_files(files.root());
  describe_cache(files, 0, "Data", 1, "64K");
  describe_cache(files, 1, "Instruction", 1, "192K");
  describe_cache(files, 2, "Unified", 2, "1024K");
  describe_cache(files, 3, "Unified", 3, "8M");
  const auto found = cpu::process::read_cache_files(files.root());
  CHECK(found.level1 == 65536);
  CHECK(found.level2 == 1048576);
  CHECK(found.level3 == 8388608);
  CHECK(none.level1 == 0);
  CHECK(none.level3 == 0);
}

TEST_CASE("caches: sizes that are missing or beyond belief become those of a common processor") {
  const auto none = cpu::process::plausible({0, -1, 0});
  CHECK(none.level1 == 32768);
  CHECK(none.level2 == 524288);
  CHECK(none.level3 == none.level2);
  const auto odd = cpu::process::plausible({1, std::int64_t{1} << 50, 77});
  CHECK(odd.level1 >= 8192);
  CHECK(odd.level2 <= std::int64_t{1} << 25);
  CHECK(odd.level3 >= odd.level2);
  const auto fine = cpu::process::plausible({49152, 2097152, 33554432});
  CHECK(fine.level1 == 49152);
  CHECK(fine.level2 == 2097152);
  CHECK(fine.level3 == 33554432);
}

TEST_CASE("caches: this machine's are sizes of a processor, and the same each time") {
  const auto& found = cpu::caches();
  CHECK(found.level1 >= 8192);
  CHECK(found.level2 >= found.level1);
  CHECK(found.level3 >= found.level2);
  CHECK(&cpu::caches() == &found);
}
