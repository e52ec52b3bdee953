// SPDX-License-Identifier: BSL-1.0
// Files of compiled kernels: damaged ones are made again, folders that cannot be written are no error, the least
// recently used go first, and processes do not disturb each other.
#include <kiln/device/cuda/compile/cache_disk.hpp>

#include "device/cuda/cache_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

using namespace kiln;
using cuda::cache_key;
using cuda::disk_cache;
using cuda_cache_test::folder;

namespace {
void age(const std::filesystem::path& path, int hours) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
}
struct environment {
  explicit environment(const char* name, const char* value) : name_(name) {
    const char* now = std::getenv(name);
    had_ = now != nullptr;
    if (now) before_ = now;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~environment() { had_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
  const char* name_;
  bool had_ = false;
  std::string before_;
};
}  // namespace

TEST_CASE("cache_disk: what is written is read back, under its own key only") {
  const folder here;
  const disk_cache disk({here.path() / "deep/er", 1 << 20, {}});
  CHECK_FALSE(disk.read({1, 2}));
  const std::string image("\0\1binary\xff", 9);
  CHECK(disk.write({1, 2}, image));
  CHECK(disk.read({1, 2}) == image);
  CHECK_FALSE(disk.read({2, 1}));
  std::filesystem::rename(disk.place_of({1, 2}), disk.place_of({2, 1}));
  CHECK_FALSE(disk.read({2, 1}));  // a file under another name is not what its name says
}

TEST_CASE("cache_disk: a damaged file is removed: any byte, a missing end, nothing at all") {
  const folder here;
  const disk_cache disk({here.path(), 1 << 20, {}});
  const std::string image = "the image of a kernel";
  REQUIRE(disk.write({7, 7}, image));
  const std::string name = disk.place_of({7, 7}).filename().string(), whole = here.read(name);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    here.write(name, damaged);
    CHECK_FALSE(disk.read({7, 7}));
    CHECK_FALSE(std::filesystem::exists(disk.place_of({7, 7})));
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, whole.size() - 1}) {
    here.write(name, whole.substr(0, size));
    CHECK_FALSE(disk.read({7, 7}));
  }
  here.write(name, whole + "x");
  CHECK_FALSE(disk.read({7, 7}));
  here.write(name, whole);
  CHECK(disk.read({7, 7}) == image);
}

TEST_CASE("cache_disk: no folder, one that is a file, one that cannot be written: nothing is kept, nothing is thrown") {
  const folder here;
  CHECK_FALSE(disk_cache({{}, 1 << 20, {}}).write({1, 1}, "x"));
  here.write("file", "");
  const disk_cache in_file({here.path() / "file", 1 << 20, {}});
  CHECK_FALSE(in_file.write({1, 1}, "x"));
  CHECK_FALSE(in_file.read({1, 1}));
  const disk_cache nowhere({"/proc/kiln", 1 << 20, {}});
  CHECK_FALSE(nowhere.write({1, 1}, "x"));
  const disk_cache full({"/dev/full", 1 << 20, {}});
  CHECK_FALSE(full.write({1, 1}, "x"));
}

TEST_CASE("cache_disk: beyond its limit the least recently used go first, and half-written files after an hour") {
  const folder here;
  const disk_cache writer({here.path(), 1 << 20, {}}), limited({here.path(), 4000, {}});
  for (std::uint64_t k = 0; k < 6; ++k) {
    REQUIRE(writer.write({k, 0}, std::string(900, 'x')));
    age(writer.place_of({k, 0}), static_cast<int>(60 - 10 * (k == 0 ? 5 : k)));  // number 0 was used last
  }
  const std::string digits = "0123456789abcdef0123456789abcde", old = "writing-" + digits + "0",
                    fresh = "writing-" + digits + "1";
  here.write(old, "half");
  here.write(fresh, "half");
  age(here.path() / old, 2);
  CHECK(limited.sweep() <= 3600);
  CHECK(limited.read({0, 0}));
  CHECK(limited.read({5, 0}));
  CHECK_FALSE(limited.read({1, 0}));
  CHECK_FALSE(std::filesystem::exists(here.path() / old));
  CHECK(std::filesystem::exists(here.path() / fresh));
}

TEST_CASE("cache_disk: sweeping touches nothing but plain files of kiln's own names, and follows no link") {
  const folder here, elsewhere;
  const disk_cache disk({here.path(), 1000, {}});
  const std::string digits(31, 'a');
  elsewhere.write("precious", std::string(5000, 'p'));
  here.write("thesis.kernel", std::string(5000, 't'));      // somebody's file that ends like ours
  here.write("writing-my-thesis", std::string(5000, 't'));  // and one that begins so
  here.write(digits + "A.kernel", std::string(5000, 't'));  // no digit that kiln writes
  std::filesystem::create_symlink(elsewhere.path() / "precious", here.path() / (digits + "0.kernel"));
  std::filesystem::create_directory(here.path() / (digits + "1.kernel"));
  here.write(digits + "2.kernel", std::string(5000, 'k'));
  for (const auto& entry : std::filesystem::directory_iterator(here.path()))
    if (!entry.is_symlink()) age(entry.path(), 48);
  CHECK(disk.sweep() == 0);
  for (const std::string& name : {std::string("thesis.kernel"), std::string("writing-my-thesis"), digits + "A.kernel",
                                  digits + "0.kernel", digits + "1.kernel"}) {
    CAPTURE(name);
    CHECK(std::filesystem::exists(std::filesystem::symlink_status(here.path() / name)));
  }
  CHECK_FALSE(std::filesystem::exists(here.path() / (digits + "2.kernel")));
  CHECK(elsewhere.read("precious").size() == 5000);
}

TEST_CASE("cache_disk: in a kernel's place a directory, a FIFO, a device, a link or a vast file is no kernel") {
  const folder here, elsewhere;
  const disk_cache disk({here.path(), 1 << 20, {}}), other({elsewhere.path(), 1 << 20, {}});
  const auto place = disk.place_of({1, 1});
  REQUIRE(disk.write({2, 2}, "y"));
  std::filesystem::create_directory(place);
  CHECK_FALSE(disk.read({1, 1}));
  CHECK_FALSE(disk.write({1, 1}, "x"));
  std::filesystem::remove(place);
  REQUIRE(::mkfifo(place.c_str(), 0600) == 0);
  CHECK_FALSE(disk.read({1, 1}));  // and does not wait for a writer
  REQUIRE((std::filesystem::exists(place) || ::mkfifo(place.c_str(), 0600) == 0));
  CHECK(disk.write({1, 1}, "x"));
  CHECK(disk.read({1, 1}) == "x");
  std::filesystem::remove(place);
  for (const char* device : {"/dev/zero", "/dev/full"}) {  // the first has no end
    std::filesystem::create_symlink(device, place);
    CHECK_FALSE(disk.read({1, 1}));
    std::filesystem::remove(place);
  }
  REQUIRE(other.write({1, 1}, "x"));
  std::filesystem::create_symlink(other.place_of({1, 1}), place);  // good, but not in this folder
  CHECK_FALSE(disk.read({1, 1}));
  CHECK(other.read({1, 1}) == "x");
  std::filesystem::remove(place);
  std::filesystem::copy_file(disk.place_of({2, 2}), place);
  std::filesystem::resize_file(place, std::uintmax_t{1} << 40);  // a hole: none of it is read
  CHECK_FALSE(disk.read({1, 1}));
}

TEST_CASE("cache_disk: what is made is this user's alone, and what others can write or own is not used") {
  const folder here;
  const mode_t before = ::umask(0);
  const disk_cache disk({here.path() / "new" / "kiln", 1 << 20, {}});
  REQUIRE(disk.write({1, 1}, "x"));
  ::umask(before);
  const auto mode = [](const std::filesystem::path& path) {
    return static_cast<int>(std::filesystem::status(path).permissions()) & 0777;
  };
  CHECK(mode(here.path() / "new") == 0700);
  CHECK(mode(disk.settings().folder) == 0700);
  CHECK(mode(disk.place_of({1, 1})) == 0600);
  CHECK(disk.refusal().empty());
  for (const int open : {0777, 0770, 0707, 01777}) {
    REQUIRE(::chmod(disk.settings().folder.c_str(), static_cast<mode_t>(open)) == 0);
    CHECK_FALSE(disk.read({1, 1}));
    CHECK_FALSE(disk.write({2, 2}, "y"));
    CHECK(disk.sweep() == 0);
    CHECK(disk.refusal().find("can be written by others") != std::string::npos);
  }
  REQUIRE(::chmod(disk.settings().folder.c_str(), 0755) == 0);  // others may read
  CHECK(disk.read({1, 1}) == "x");
  REQUIRE(::chmod(disk.place_of({1, 1}).c_str(), 0666) == 0);
  CHECK_FALSE(disk.read({1, 1}));
  if (::geteuid() != 0) return;  // only root gives files away
  REQUIRE(disk.write({1, 1}, "x"));
  REQUIRE(::chown(disk.place_of({1, 1}).c_str(), 65534, 65534) == 0);
  CHECK_FALSE(disk.read({1, 1}));
  REQUIRE(disk.write({1, 1}, "x"));
  REQUIRE(::chown(disk.settings().folder.c_str(), 65534, 65534) == 0);
  CHECK_FALSE(disk.read({1, 1}));
  CHECK_FALSE(disk.write({1, 1}, "x"));
  CHECK(disk.refusal().find("belongs to user 65534") != std::string::npos);
}

TEST_CASE("cache_disk: a link to the folder is followed; an image that does not load can be dropped") {
  const folder here;
  std::filesystem::create_directory(here.path() / "real");
  std::filesystem::create_symlink(here.path() / "real", here.path() / "link");
  const disk_cache disk({here.path() / "link", 1 << 20, {}});
  REQUIRE(disk.write({1, 1}, "x"));
  CHECK(disk.read({1, 1}) == "x");
  disk.drop({1, 1});
  CHECK_FALSE(std::filesystem::exists(here.path() / "real" / disk.place_of({1, 1}).filename()));
}

TEST_CASE("cache_disk: a dump is no way to write elsewhere, and waits for nobody") {
  const folder here;
  here.write("precious", "p");
  std::filesystem::create_symlink(here.path() / "precious", here.path() / "link.cu");
  REQUIRE(::mkfifo((here.path() / "fifo.cu").c_str(), 0600) == 0);
  for (const char* name : {"link.cu", "fifo.cu"}) cuda::detail::write_dump(here.path(), name, "text");
  CHECK(here.read("precious") == "p");
  cuda::detail::write_dump(here.path() / "a/b", "good.cu", "longer");
  cuda::detail::write_dump(here.path() / "a/b", "good.cu", "text");
  CHECK(here.read("a/b/good.cu") == "text");
}

TEST_CASE("cache_disk: writing alone keeps the folder near its limit") {
  const folder here;
  const disk_cache disk({here.path(), 20000, {}});
  for (std::uint64_t k = 0; k < 100; ++k) disk.write({k, 0}, std::string(1000, 'x'));
  CHECK(here.files(".kernel") <= 22);
  CHECK(here.files(".kernel") >= 15);
}

TEST_CASE("cache_disk: reading a kernel that was not used for days says that it was") {
  const folder here;
  const disk_cache disk({here.path(), 1 << 20, {}});
  disk.write({1, 1}, "x");
  age(disk.place_of({1, 1}), 72);
  CHECK(disk.read({1, 1}));
  const auto since =
      std::filesystem::file_time_type::clock::now() - std::filesystem::last_write_time(disk.place_of({1, 1}));
  CHECK(since < std::chrono::hours(1));
}

TEST_CASE("cache_disk: eight processes that write the same kernels leave only whole files") {
  const folder here;
  const std::string image(50000, 'k');
  for (int p = 0; p < 8; ++p)
    if (::fork() == 0) {
      const disk_cache disk({here.path(), 1 << 24, {}});
      bool right = true;
      for (std::uint64_t k = 0; k < 40; ++k) {
        disk.write({k % 5, 1}, image);
        const auto found = disk.read({k % 5, 1});
        right &= found && *found == image;
      }
      ::_exit(right ? 0 : 1);
    }
  for (int p = 0; p < 8; ++p) {
    int status = -1;
    ::wait(&status);
    CHECK(status == 0);
  }
  CHECK(here.files(".kernel") == 5);
}

TEST_CASE("cache_disk: the environment says where and how much") {
  const environment directory("KILN_CACHE_DIR", "/tmp/somewhere"), on("KILN_CACHE", nullptr),
      dump("KILN_DUMP", "/tmp/dump");
  {
    const environment size("KILN_CACHE_SIZE", "64M");
    const cuda::cache_settings s = cuda::settings_from_environment();
    CHECK(s.folder == "/tmp/somewhere");
    CHECK(s.most_bytes == 64 << 20);
    CHECK(s.dump == "/tmp/dump");
  }
  const environment size("KILN_CACHE_SIZE", nullptr);
  CHECK(cuda::settings_from_environment().most_bytes == 1 << 30);
  {
    const environment off("KILN_CACHE", "0");
    CHECK(cuda::settings_from_environment().folder.empty());
  }
  const environment none("KILN_CACHE_DIR", nullptr), no_cache("XDG_CACHE_HOME", nullptr);
  {
    const environment home("HOME", "/home/me");
    CHECK(cuda::settings_from_environment().folder == "/home/me/.cache/kiln");
    const environment cache("XDG_CACHE_HOME", "/var/me");
    CHECK(cuda::settings_from_environment().folder == "/var/me/kiln");
    const environment relative("XDG_CACHE_HOME", "cache/of/me");  // to be ignored, says the specification
    CHECK(cuda::settings_from_environment().folder == "/home/me/.cache/kiln");
    const environment none_either("HOME", "me");
    CHECK(cuda::settings_from_environment().folder.empty());
    const environment asked("KILN_CACHE_DIR", "kernels");  // what was asked for is taken from where the program began
    CHECK(cuda::settings_from_environment().folder == std::filesystem::current_path() / "kernels");
  }
  const environment home("HOME", nullptr);
  CHECK(cuda::settings_from_environment().folder.empty());
}

TEST_CASE("cache_disk: a size that is none is an error that says what one is") {
  for (const char* text : {"many", "12X", "-1", "1.5G", "1125899906842624G", "18014398509481984K"}) {
    const environment size("KILN_CACHE_SIZE", text);
    CHECK_THROWS_AS(cuda::settings_from_environment(), value_error);
  }
}
