// SPDX-License-Identifier: BSL-1.0
// atomic_file: there whole or not at all, whatever stops it.
#include <kiln/io/atomic_file.hpp>

#include <support/child.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

using kiln::io_error;
using kiln::io::atomic_file;
using kiln_tests::scratch_directory;
using kiln_tests::slurp;

namespace {
std::atomic<int> calls_of_umask = 0;
}
// In the place of the C library's.
extern "C" mode_t umask(mode_t mask) noexcept {
  ++calls_of_umask;
  return static_cast<mode_t>(::syscall(SYS_umask, mask));
}

namespace {
void put(const std::filesystem::path& path, const std::string& text,
         atomic_file::unfinished how = atomic_file::unfinished::unnamed) {
  atomic_file file("put", path, how);
  file.write(text);
  file.commit();
}
std::size_t files_in(const scratch_directory& dir) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(dir.path()), std::filesystem::directory_iterator()));
}
bool has_unnamed_files(const scratch_directory& dir) {
  const int file = ::open(dir.path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  return file >= 0 && ::close(file) == 0;
}
}  // namespace

TEST_CASE("atomic_file: a file is there once it is committed, and takes another's place and rights") {
  const scratch_directory dir;
  const auto path = dir.path() / "x";
  {
    atomic_file file("put", path);
    file.write("abc");
    CHECK(file.written() == 3);
    CHECK_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  CHECK(slurp(path) == "abc");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == (0666 & ~mask));
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  put(path, "de");
  CHECK(slurp(path) == "de");
  REQUIRE(::stat(path.c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0640);
  CHECK(files_in(dir) == 1);
}

TEST_CASE("atomic_file: what is not committed was never there") {
  const scratch_directory dir;
  put(dir.path() / "x", "old");
  {
    atomic_file file("put", dir.path() / "x");
    file.write("new");
  }
  CHECK(slurp(dir.path() / "x") == "old");
  CHECK(files_in(dir) == 1);
}

TEST_CASE("atomic_file: a program that is killed while it writes leaves the file before") {
  for (const auto how : {atomic_file::unfinished::unnamed, atomic_file::unfinished::named}) {
    const scratch_directory dir;
    dir.write("x", "old");
    const auto killed = [&]() -> int {
      atomic_file file("put", dir.path() / "x", how);
      file.write("new");
      ::_exit(3);
    };
    CHECK(kiln::support::run_in_child(killed) == 3);
    CHECK(slurp(dir.path() / "x") == "old");
    const bool named = how == atomic_file::unfinished::named || !has_unnamed_files(dir);
    CHECK(files_in(dir) == (named ? 2 : 1));
    // What is left, the first write of another process removes.
    CHECK(kiln::support::run_in_child([&] { return put(dir.path() / "y", "new", how), 0; }) == 0);
    CHECK(files_in(dir) == 2);
    CHECK(slurp(dir.path() / "y") == "new");
  }
}

TEST_CASE("atomic_file: the umask holds, and is never set, which would be for all threads") {
  for (const auto how : {atomic_file::unfinished::unnamed, atomic_file::unfinished::named}) {
    const scratch_directory dir;
    const auto rights = [&](const char* name) {
      struct stat made {};
      return ::stat((dir.path() / name).c_str(), &made) == 0 ? made.st_mode & 07777 : 0;
    };
    CHECK(kiln::support::run_in_child([&] {
            ::umask(027);
            calls_of_umask = 0;
            put(dir.path() / "x", "new", how);
            put(dir.path() / "x", "newer", how);
            return calls_of_umask.load();
          }) == 0);
    CHECK(rights("x") == 0640);
  }
}

TEST_CASE("atomic_file: a file that only its owner reads is never another's to read, nor is its copy") {
  for (const auto how : {atomic_file::unfinished::unnamed, atomic_file::unfinished::named}) {
    const scratch_directory dir;
    put(dir.path() / "x", "old");
    REQUIRE(::chmod((dir.path() / "x").c_str(), 0600) == 0);
    atomic_file file("put", dir.path() / "x", how);
    for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
      CHECK((entry.status().permissions() & std::filesystem::perms(077)) == std::filesystem::perms::none);
    file.write("new");
    file.commit();
    CHECK(slurp(dir.path() / "x") == "new");
    CHECK((std::filesystem::status(dir.path() / "x").permissions() == std::filesystem::perms(0600)));
    CHECK(files_in(dir) == 1);
  }
}

TEST_CASE("atomic_file: a full disk is an error, and the file before stays") {
  const scratch_directory dir;
  put(dir.path() / "x", "old");
  CHECK(kiln::support::run_in_child([&] {
          ::signal(SIGXFSZ, SIG_IGN);
          const rlimit most{1000, 1000};  // what a file may have: writing more fails as on a full disk
          if (::setrlimit(RLIMIT_FSIZE, &most) != 0) return 77;
          try {
            put(dir.path() / "x", std::string(2000, 'n'));
          } catch (const io_error& e) {
            return std::string(e.what()).find("cannot write") != std::string::npos ? 0 : 2;
          }
          return 1;
        }) == 0);
  CHECK(slurp(dir.path() / "x") == "old");
  CHECK(files_in(dir) == 1);
}

TEST_CASE("atomic_file: room that is reserved is known to be there, and given back where it was not used") {
  const scratch_directory dir;
  put(dir.path() / "x", "old");
  const auto more = std::filesystem::space(dir.path()).capacity + 1;
  {
    // Nobody else finds the disk full meanwhile.
    std::atomic<bool> done = false;
    const auto before = std::filesystem::space(dir.path()).available;
    auto least = before;
    std::thread watch([&] {
      while (!done) least = std::min(least, std::filesystem::space(dir.path()).available);
    });
    atomic_file file("put", dir.path() / "x");
    CHECK_THROWS_WITH_AS(file.reserve(more), doctest::Contains((std::to_string(more) + " bytes").c_str()), io_error);
    done = true;
    watch.join();
    CHECK(least > before / 2);
  }
  CHECK(slurp(dir.path() / "x") == "old");
  CHECK(files_in(dir) == 1);
  atomic_file file("put", dir.path() / "x");
  file.reserve(1 << 20);
  file.write("new");
  file.commit();
  struct stat found {};
  REQUIRE(::stat((dir.path() / "x").c_str(), &found) == 0);
  CHECK(found.st_size == 3);
  CHECK(found.st_blocks * 512 <= 65536);
}

TEST_CASE("atomic_file: what the disk begins with early is whole") {
  const scratch_directory dir;
  std::string text(std::size_t{34} << 20, 'x'), found(text.size() + 1, ' ');
  for (std::size_t i = 0; i < text.size(); i += 4099) text[i] = static_cast<char>('a' + i % 23);
  {
    atomic_file file("put", dir.path() / "x");
    file.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); at += 3000001) file.write(std::string_view(text).substr(at, 3000001));
    CHECK(file.written() == text.size());
    file.commit();
  }
  std::ifstream in(dir.path() / "x", std::ios::binary);
  in.read(found.data(), static_cast<std::streamsize>(found.size()));
  CHECK(in.gcount() == static_cast<std::streamsize>(text.size()));
  found.pop_back();
  CHECK((found == text));
}

TEST_CASE("atomic_file: a link leads to the file that it names") {
  const scratch_directory dir;
  std::filesystem::create_directory(dir.path() / "there");
  put(dir.path() / "there/x", "old");
  std::filesystem::create_symlink("there/x", dir.path() / "link");
  put(dir.path() / "link", "new");
  CHECK(std::filesystem::is_symlink(dir.path() / "link"));
  CHECK(slurp(dir.path() / "there/x") == "new");
}

TEST_CASE("atomic_file: places where no file can be") {
  const scratch_directory dir;
  CHECK_THROWS_WITH_AS(put(dir.path() / "absent/x", ""), doctest::Contains("cannot make a file in"), io_error);
  CHECK_THROWS_WITH_AS(put(dir.path(), ""), doctest::Contains("is a directory"), io_error);
  CHECK_THROWS_WITH_AS(put("/dev/null", ""), doctest::Contains("is a pipe or a device"), io_error);
  CHECK_THROWS_AS(put("", ""), io_error);
}
