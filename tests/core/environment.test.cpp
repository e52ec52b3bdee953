// SPDX-License-Identifier: BSL-1.0
// Environment variables, and that a setuid program has none.
#include <kiln/core/environment.hpp>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

TEST_CASE("environment: a variable, and null for one that is not set") {
  ::setenv("KILN_TEST_VARIABLE", "value", 1);
  CHECK(std::string(kiln::detail::environment("KILN_TEST_VARIABLE")) == "value");
  ::unsetenv("KILN_TEST_VARIABLE");
  CHECK(kiln::detail::environment("KILN_TEST_VARIABLE") == nullptr);
}

// What the copy below runs: exits with 0 if the variable is seen.
TEST_CASE("environment: seen by this program" * doctest::skip()) {
  ::_exit(kiln::detail::environment("KILN_TEST_VARIABLE") != nullptr ? 0 : 1);
}

TEST_CASE("environment: a program that runs with another user's rights has none") {
  if (::geteuid() != 0) return;  // only root can make this program another user's
  std::string folder = (std::filesystem::temp_directory_path() / "kiln_setuid_XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  REQUIRE(::chmod(folder.c_str(), 0755) == 0);
  struct ::statvfs mount {};
  REQUIRE(::statvfs(folder.c_str(), &mount) == 0);
  if ((mount.f_flag & ST_NOSUID) != 0) return;
  const std::string copy = folder + "/program";
  std::filesystem::copy_file("/proc/self/exe", copy);
  const auto status_with = [&](uid_t owner, mode_t mode) {
    REQUIRE(::chown(copy.c_str(), owner, owner) == 0);
    REQUIRE(::chmod(copy.c_str(), mode) == 0);
    return std::system(("KILN_TEST_VARIABLE=1 '" + copy +
                        "' --no-skip '--test-case=environment: seen by this program' >/dev/null 2>&1")
                           .c_str());
  };
  CHECK(WEXITSTATUS(status_with(0, 0755)) == 0);
  CHECK(WEXITSTATUS(status_with(65534, 04755)) == 1);
  std::filesystem::remove_all(folder);
}
