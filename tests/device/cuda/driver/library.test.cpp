// SPDX-License-Identifier: BSL-1.0
// Opening libraries at run time: the order of places, and the texts for what is missing. The C library's mathematics
// stands for NVIDIA's.
#include <kiln/device/cuda/driver/library.hpp>

#include "cuda_emulator/host_compiler.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using kiln::cuda::library_description;
using kiln::cuda::open_library;

// An environment variable for the time of a test.
class setting {
 public:
  setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    ::setenv(name, value.c_str(), 1);
  }
  ~setting() { had_ ? ::setenv(name_, old_.c_str(), 1) : ::unsetenv(name_); }
  setting(const setting&) = delete;
  setting& operator=(const setting&) = delete;

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

constexpr std::array absent_files{"libkiln_absent.so.2", "libkiln_absent.so.1"};
constexpr std::array wheels{"nvidia/absent/lib"};
constexpr library_description absent{"Absent", "KILN_LIBABSENT", absent_files, wheels, "install Absent 2"};
constexpr std::array math_files{"libkiln_absent.so.2", "libm.so.6"};
constexpr library_description math{"Mathematics", "KILN_LIBABSENT", math_files, {}, "install it"};

std::string reason(const library_description& wanted) {
  try {
    open_library(wanted);
  } catch (const kiln::device_error& caught) {
    return caught.what();
  }
  return "found";
}

// A folder with a copy of the mathematics library under the absent one's name.
struct fake_place {
  std::string root = "/tmp/kiln_library_XXXXXX", folder;
  explicit fake_place(const std::string& below) {
    REQUIRE(::mkdtemp(root.data()) != nullptr);
    folder = root + below;
    REQUIRE(std::system(("mkdir -p '" + folder + "' && cp \"$(ldconfig -p | grep -o '/.*libm\\.so\\.6' | head -1)\" '" +
                         folder + "/libkiln_absent.so.1'")
                            .c_str()) == 0);
  }
  ~fake_place() { CHECK(std::system(("rm -r '" + root + "'").c_str()) == 0); }
};

}  // namespace

TEST_CASE("the first file of the list that the system finds is opened") {
  const auto found = open_library(math);
  CHECK(found.path().ends_with("/libm.so.6"));
  double (*cosine)(double) = nullptr;
  found.get(cosine, "cos");
  CHECK(cosine(0.0) == 1.0);
}

TEST_CASE("a function that the library lacks is an error that names both") {
  const auto found = open_library(math);
  void (*missing)() = nullptr;
  CHECK(found.find("kiln_missing") == nullptr);
  CHECK_THROWS_WITH_AS(found.get(missing, "kiln_missing"), doctest::Contains("no function kiln_missing"),
                       kiln::device_error);
}

TEST_CASE("a library that is nowhere is an error with files, places and the way out") {
  const setting toolkit("CUDA_HOME", "/nowhere/cuda"), environment("VIRTUAL_ENV", "/nowhere/venv");
  const std::string words = reason(absent);
  for (const char* part : {"Absent not found", "libkiln_absent.so.2, libkiln_absent.so.1", "/nowhere/cuda/lib64",
                           "/nowhere/venv/lib/python3*/site-packages/nvidia/absent/lib", "/usr/local/cuda/lib64",
                           "install Absent 2", "KILN_LIBABSENT"}) {
    INFO(words);
    CHECK(words.find(part) != words.npos);
  }
}

TEST_CASE("the toolkit's folder is searched") {
  const fake_place place("/lib64");
  const setting toolkit("CUDA_HOME", place.root);
  CHECK(open_library(absent).path() == place.folder + "/libkiln_absent.so.1");
}

TEST_CASE("the folders of Python's wheels are searched, in a virtual environment and under conda") {
  const fake_place place("/lib/python3.12/site-packages/nvidia/absent/lib");
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const setting environment(variable, place.root);
    CHECK(open_library(absent).path() == place.folder + "/libkiln_absent.so.1");
  }
}

TEST_CASE("the wheels of the first python3 are found where no environment is activated, and those of PYTHONPATH") {
  const setting no_environment("VIRTUAL_ENV", ""), no_conda("CONDA_PREFIX", "");
  {
    const fake_place place("/some where/odd/lib/python3.12/site-packages/nvidia/absent/lib");
    const std::string root = place.root + "/some where/odd";
    REQUIRE(std::system(
                ("mkdir '" + root + "/bin' && touch '" + root + "/bin/python3' && chmod +x '" + root + "/bin/python3'")
                    .c_str()) == 0);
    CHECK(reason(absent).find("Absent not found") != std::string::npos);
    const setting path("PATH", "/nowhere/bin:" + root + "/bin:" + std::getenv("PATH"));
    CHECK(open_library(absent).path() == place.folder + "/libkiln_absent.so.1");
  }
  const fake_place place("/packages/nvidia/absent/lib");
  const setting packages("PYTHONPATH", "/nowhere:" + place.root + "/packages");
  CHECK(open_library(absent).path() == place.folder + "/libkiln_absent.so.1");
}

TEST_CASE("the wheels of the interpreter behind a linked python3 are found, after those beside the link") {
  const setting no_environment("VIRTUAL_ENV", ""), no_conda("CONDA_PREFIX", "");
  // A virtual environment whose python3 leads, over a second link, to the interpreter that it was made from.
  const fake_place place("/base/lib/python3.12/site-packages/nvidia/absent/lib");
  const auto run = [&](const std::string& command) {
    REQUIRE(std::system(("cd '" + place.root + "' && " + command).c_str()) == 0);
  };
  run("mkdir -p base/bin venv/bin && touch base/bin/python3.12 && chmod +x base/bin/python3.12 &&"
      " ln -s python3.12 base/bin/python3 && ln -s ../../base/bin/python3 venv/bin/python3");
  const setting path("PATH", place.root + "/venv/bin:" + std::getenv("PATH"));
  CHECK(open_library(absent).path() == place.folder + "/libkiln_absent.so.1");
  const std::string own = "venv/lib/python3.12/site-packages/nvidia/absent/lib";
  run("mkdir -p " + own + " && cp '" + place.folder + "/libkiln_absent.so.1' " + own);
  CHECK(open_library(absent).path() == place.root + "/" + own + "/libkiln_absent.so.1");
}

TEST_CASE("the driver is searched where containers have it") {
  CHECK(reason(absent).find(", /usr/local/nvidia/lib64") != std::string::npos);
}

TEST_CASE("files that the library opens by name are found beside it") {
  const fake_place place("/lib64");
  const auto run = [&](const std::string& command) {
    REQUIRE(std::system(("cd '" + place.folder + "' && " + command).c_str()) == 0);
  };
  run("echo 'int kiln_companion(void) { return 7; }' > c.c && " + emulate::host_compiler() +
      " -x c -shared -fPIC c.c -Wl,-soname,libkiln_companion.so.3 -o libkiln_companion.so.3");
  library_description wanted = absent;
  wanted.companions = "libkiln_companion.so.*";
  const auto found_by_name = [] { return ::dlopen("libkiln_companion.so.3", RTLD_NOW) != nullptr; };
  REQUIRE_FALSE(found_by_name());
  const setting toolkit("CUDA_HOME", place.root);
  open_library(wanted);
  CHECK(found_by_name());
}

TEST_CASE("the variable of the library wins, and a mistake in it is not passed over") {
  const fake_place place("/lib64");
  {
    const setting own("KILN_LIBABSENT", place.folder + "/libkiln_absent.so.1");
    CHECK(open_library(math).path() == place.folder + "/libkiln_absent.so.1");
  }
  const setting own("KILN_LIBABSENT", place.folder + "/mistyped.so");
  const std::string words = reason(math);
  CHECK(words.find("KILN_LIBABSENT names " + place.folder + "/mistyped.so, which cannot be opened") != words.npos);
}

TEST_CASE("a file that is there but no library is named with the reason") {
  const fake_place place("/lib64");
  std::ofstream(place.folder + "/libkiln_absent.so.1") << "no library";
  const setting toolkit("CUDA_HOME", place.root);
  const std::string words = reason(absent);
  CHECK(words.find(place.folder + "/libkiln_absent.so.1 cannot be opened (") != words.npos);
}
