// SPDX-License-Identifier: BSL-1.0
// How a bundle lies in a file: its tables, reads that never go beyond what is there, and the section of a program that
// holds one. bundle.hpp is what looks kernels up.
#pragma once

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/compile/cache_key.hpp>

namespace kiln::cuda {

/// Raised when bundles of earlier versions must not be read any more.
inline constexpr std::uint64_t bundle_format = 1;

namespace detail {

inline constexpr std::string_view bundle_magic = "kilnbndl", bundle_section = ".kiln_bundle";

/// A bundle begins with this; entries, images and the bytes of the images follow.
struct bundle_header {
  char magic[8] = {};
  std::uint64_t format = 0;
  std::uint64_t entries = 0, images = 0;
  cache_key checksum;  ///< of both tables
};
/// Under which key a kernel is found, and the image that has it. Sorted by key.
struct bundle_entry {
  cache_key key;
  std::uint64_t image = 0;
};
/// Machine code of some kernels for one architecture, at an offset from the beginning of the bundle.
struct bundle_image {
  std::uint64_t offset = 0, size = 0, architecture = 0;
  cache_key checksum;
};

cache_key checksum_of(std::string_view bytes);
cache_key checksum_of(const std::vector<bundle_entry>& entries, const std::vector<bundle_image>& images);

/// A part of a file, by positioned reads.
class file_part {
 public:
  file_part() = default;
  file_part(std::string path, std::uint64_t offset, std::uint64_t size)
      : path_(std::move(path)), offset_(offset), size_(size) {}
  /// A whole file; nothing if it cannot be read.
  static std::optional<file_part> whole(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    const ::off_t end = ::lseek(file, 0, SEEK_END);
    ::close(file);
    if (end < 0) return std::nullopt;
    return file_part(path, 0, static_cast<std::uint64_t>(end));
  }
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// A part of this part; nothing if it reaches beyond.
  std::optional<file_part> part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > size_ || size > size_ - offset) return std::nullopt;
    return file_part(path_, offset_ + offset, size);
  }
  /// Reads `size` bytes from `offset` on. Returns whether all could be had.
  bool read(void* to, std::uint64_t offset, std::uint64_t size) const {
    if (offset > size_ || size > size_ - offset) return false;
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    std::uint64_t done = 0;
    while (done < size) {
      const ::ssize_t got = ::pread(file, static_cast<char*>(to) + done, static_cast<std::size_t>(size - done),
                                    static_cast<::off_t>(offset_ + offset + done));
      if (got <= 0) break;
      done += static_cast<std::uint64_t>(got);
    }
    ::close(file);
    return done == size;
  }
  /// A table of n entries; nothing if they reach beyond the end.
  template <class T>
  std::optional<std::vector<T>> table(std::uint64_t offset, std::uint64_t n) const {
    if (offset > size_ || n > (size_ - offset) / sizeof(T)) return std::nullopt;
    std::vector<T> all(static_cast<std::size_t>(n));
    if (!read(all.data(), offset, n * sizeof(T))) return std::nullopt;
    return all;
  }

 private:
  std::string path_;
  std::uint64_t offset_ = 0, size_ = 0;
};

/// The section .kiln_bundle of a program or library; nothing if it has none.
std::optional<file_part> bundle_section_of(const std::string& path);

}  // namespace detail

/// The key of a kernel in a bundle. The version of the compiler is no part of it: the bundle was compiled elsewhere.
cache_key bundle_key(const std::string& text, int architecture);

/// Some kernels in one image, for one architecture.
struct bundle_part {
  int architecture = 0;
  std::vector<cache_key> keys;  ///< of its kernels, see bundle_key
  std::string image;
};

/// A bundle as the bytes of its file.
std::string bundle_bytes(const std::vector<bundle_part>& parts);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/bundle_file_impl.hpp>
#endif
