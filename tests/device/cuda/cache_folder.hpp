// SPDX-License-Identifier: BSL-1.0
// A folder that ends with its test.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace cuda_cache_test {

class folder {
 public:
  folder() {
    std::random_device random;
    path_ = std::filesystem::temp_directory_path() / ("kiln_cache_" + std::to_string(random()));
    std::filesystem::create_directories(path_);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::filesystem::path& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  int files(const std::string& extension) const {
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) n += entry.path().extension() == extension;
    return n;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace cuda_cache_test
