// SPDX-License-Identifier: BSL-1.0
// Shared objects that were made before, by all that they were made from: the tests of several builds ask for the same
// kernels, which the host compiler takes most of their time for.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "host_compiler.hpp"

namespace emulate {

/// The objects in the folder that KILN_EMULATOR_CACHE names, which is there and of one compiler; without it there are
/// none, and none are kept.
class object_cache {
 public:
  /// `source` is everything that an object depends on, but the compiler.
  explicit object_cache(std::string source) : source_(std::move(source)) {
    const char* folder = std::getenv("KILN_EMULATOR_CACHE");
    if (folder == nullptr || *folder == 0) return;
    path_ = std::string(folder) + "/" + std::to_string(std::hash<std::string>{}(source_));
    source_.insert(0, std::to_string(source_.size()) + "\n");
  }

  /// Empty if there is none.
  std::string find() const {
    if (path_.empty()) return {};
    std::string file = read_file(path_);
    // The whole source stands before the object, so it does not matter what others have the same hash.
    return std::string_view(file).starts_with(source_) ? file.substr(source_.size()) : std::string();
  }

  /// Others may keep the same object at the same time, and read it.
  void keep(const std::string& object) const {
    if (!path_.empty()) write_whole_file(path_, source_ + object);
  }

 private:
  std::string source_, path_;
};

}  // namespace emulate
