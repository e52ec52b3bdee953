// SPDX-License-Identifier: BSL-1.0
// A file in memory, with a name, for functions that open what they read.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace fuzz {

class memory_file {
 public:
  memory_file(const void* bytes, std::size_t size) : number_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (number_ < 0 || ::write(number_, bytes, size) != static_cast<ssize_t>(size)) std::abort();
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(number_); }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(number_); }
  int number() const { return number_; }

 private:
  int number_;
};

/// Ends the run, and keeps the input, unless what was promised holds.
inline void promise(bool holds) {
  if (!holds) std::abort();
}

}  // namespace fuzz
