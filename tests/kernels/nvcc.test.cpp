// SPDX-License-Identifier: BSL-1.0
// NVIDIA's own compiler takes every skeleton by itself, for four architectures, without a warning.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

TEST_CASE("nvcc: every kernels/*.cuh compiles for sm_80, 90, 100 and 120 without a warning") {
  std::string nvcc = "nvcc";
  if (std::system("nvcc --version > /dev/null 2>&1") != 0) nvcc = "/usr/local/cuda/bin/nvcc";
  if (std::system((nvcc + " --version > /dev/null 2>&1").c_str()) != 0) {
    MESSAGE("SKIPPED: there is no nvcc on the path nor in /usr/local/cuda/bin");
    return;
  }
  const std::filesystem::path project = KILN_TEST_SOURCE_DIR, here = std::filesystem::temp_directory_path() /
                                                                     ("kiln_nvcc_" + std::to_string(::getpid()));
  std::filesystem::create_directories(here);
  std::string all;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(project / "kernels")) {
    if (entry.path().extension() != ".cuh") continue;
    ++files;
    const std::string name = entry.path().filename().string(), source = (here / (name + ".cu")).string();
    std::ofstream(source) << "#include <kernels/" << name << ">\n";
    all += "#include <kernels/" + name + ">\n";
    // Each must bring what it needs; the host pass alone shows that. Clusters are from sm_90 on.
    const std::string oldest = name == "cluster.cuh" ? "90" : "80";
    const std::string command = nvcc + " -std=c++20 -I '" + project.string() + "' --Werror all-warnings -arch=sm_" +
                                oldest + " -cubin -o /dev/null '" + source + "' > '" + (here / "log").string() +
                                "' 2>&1";
    const bool good = std::system(command.c_str()) == 0;
    std::ifstream log(here / "log");
    CHECK_MESSAGE(good, name, ": ", std::string(std::istreambuf_iterator<char>(log), {}));
  }
  CHECK(files > 4);
  std::ofstream(here / "all.cu") << all;
  for (const char* architecture : {"90", "100", "120"}) {
    const std::string command = nvcc + " -std=c++20 -I '" + project.string() + "' --Werror all-warnings -arch=sm_" +
                                architecture + " -cubin -o /dev/null '" + (here / "all.cu").string() + "' > '" +
                                (here / "log").string() + "' 2>&1";
    const bool good = std::system(command.c_str()) == 0;
    std::ifstream log(here / "log");
    CHECK_MESSAGE(good, "sm_", architecture, ": ", std::string(std::istreambuf_iterator<char>(log), {}));
  }
  std::filesystem::remove_all(here);
}
