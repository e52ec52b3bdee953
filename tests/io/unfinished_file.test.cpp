// SPDX-License-Identifier: BSL-1.0
// Names of unfinished files, and the removal of those whose writers were killed.
#include <kiln/io/unfinished_file.hpp>

#include <support/child.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

using namespace kiln::io;
using kiln_tests::scratch_directory;

TEST_CASE("unfinished_file: drawn names are such names, and differ") {
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    std::string path = "a/.kiln-XXXXXX";
    detail::draw_unfinished_name(path);
    CHECK(detail::is_unfinished_name(path.substr(2)));
    names.insert(path);
  }
  CHECK(names.size() == 1000);
  for (const char* other : {".kiln-", ".kiln-abcde", ".kiln-abcdefg", ".kiln-abc.ef", "xkiln-abcdef", ".kiln_abcdef"})
    CHECK_FALSE(detail::is_unfinished_name(other));
}

TEST_CASE("unfinished_file: what nobody writes is removed, and nothing else") {
  const scratch_directory dir;
  const auto place = [&](const char* name) { return (dir.path() / name).string(); };
  dir.write(".kiln-killed", "");
  dir.write(".kiln-ReadMe", "");
  REQUIRE(::chmod(place(".kiln-ReadMe").c_str(), 0400) == 0);
  dir.write(".kiln-notes.txt", "");
  dir.write("kiln-abcdef", "");
  std::filesystem::create_directory(place(".kiln-folder"));
  std::filesystem::create_symlink("kiln-abcdef", place(".kiln-linked"));
  REQUIRE(::mkfifo(place(".kiln-fifo12").c_str(), 0600) == 0);
  // Written by another process, as long as that lives.
  int told[2], ends[2];
  REQUIRE((::pipe(told) == 0 && ::pipe(ends) == 0));
  const pid_t writer = kiln::support::start_child([&] {
    ::close(ends[1]);
    detail::lock_unfinished(::open(place(".kiln-writes").c_str(), O_WRONLY | O_CREAT, 0600));
    char byte = 0;
    if (::write(told[1], &byte, 1) != 1) return 1;
    return static_cast<int>(::read(ends[0], &byte, 1));  // until the other end is closed
  });
  ::close(ends[0]);
  char byte = 0;
  REQUIRE(::read(told[0], &byte, 1) == 1);
  detail::sweep_unfinished(dir.path().c_str());
  for (const char* gone : {".kiln-killed", ".kiln-ReadMe"}) CHECK_FALSE(std::filesystem::exists(place(gone)));
  for (const char* kept :
       {".kiln-notes.txt", "kiln-abcdef", ".kiln-folder", ".kiln-linked", ".kiln-fifo12", ".kiln-writes"})
    CHECK_MESSAGE(std::filesystem::exists(place(kept)), kept);
  ::close(ends[1]);
  CHECK(kiln::support::end_of_child(writer) == 0);
  detail::sweep_unfinished_once(dir.path().c_str());
  CHECK_FALSE(std::filesystem::exists(place(".kiln-writes")));
  // Not again for every file that is written into a folder.
  dir.write(".kiln-killed", "");
  detail::sweep_unfinished_once(dir.path().c_str());
  CHECK(std::filesystem::exists(place(".kiln-killed")));
  ::close(told[0]), ::close(told[1]);
}

TEST_CASE("unfinished_file: a folder that is not there has nothing to remove") {
  detail::sweep_unfinished("/nowhere/at/all");
  detail::sweep_unfinished_once("/nowhere/at/all");
}
