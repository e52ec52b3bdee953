// SPDX-License-Identifier: BSL-1.0
// The embedded skeletons are the files of kernels/, as they are now.
#include <kiln/device/cuda/print/skeletons.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

TEST_CASE("skeletons: the header is what tools/embed_kernels.py makes of kernels/*.cuh") {
  const std::filesystem::path project = KILN_TEST_SOURCE_DIR;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(project / "kernels"))
    files += entry.path().extension() == ".cuh";
  CHECK(files == kiln::cuda::skeletons.size());
  for (const kiln::cuda::skeleton& s : kiln::cuda::skeletons) {
    std::ifstream file(project / s.name);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    CHECK_MESSAGE(text == s.text, s.name,
                  " has changed: run tools/embed_kernels.py kernels include/kiln/device/cuda/print/skeletons.hpp");
  }
}

TEST_CASE("skeletons: none includes anything but another skeleton") {
  for (const kiln::cuda::skeleton& s : kiln::cuda::skeletons)
    for (std::size_t at = s.text.find("#include"); at != s.text.npos; at = s.text.find("#include", at + 1)) {
      const std::size_t begin = s.text.find('<', at) + 1, end = s.text.find('>', at);
      bool found = false;
      for (const kiln::cuda::skeleton& other : kiln::cuda::skeletons)
        found |= other.name == s.text.substr(begin, end - begin);
      CHECK_MESSAGE(found, s.name, " includes ", s.text.substr(begin, end - begin));
    }
}
