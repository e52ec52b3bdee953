// SPDX-License-Identifier: BSL-1.0
// A folder that stands for the root of a system: files like those of the kernel, for what reads limits from there.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kiln::support {

/// Gone with the scope.
class system_files {
 public:
  system_files() {
    std::string name = (std::filesystem::temp_directory_path() / "kiln_limits_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~system_files() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace kiln::support
