// SPDX-License-Identifier: BSL-1.0
// A file that is read at any place of it. Only plain files: a pipe or a device would never end, or wait for somebody.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include <kiln/core/error.hpp>

namespace kiln::io {

class input_file {
 public:
  /// Opens a file. `reader` is what errors begin with. Throws io_error if there is none, or no plain one.
  input_file(std::string reader, const std::filesystem::path& path) : reader_(std::move(reader)), path_(path) {
    number_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);  // waits for nobody
    if (number_ < 0 && errno == ENOENT)
      throw io_error(message(reader_, ": there is no file ", path, "; check the path"));
    if (number_ < 0)
      throw io_error(
          message(reader_, ": cannot open ", path, ": ", std::strerror(errno), "; check that you may read it"));
    struct stat found {};
    if (::fstat(number_, &found) != 0 || !S_ISREG(found.st_mode)) {
      const bool folder = S_ISDIR(found.st_mode);
      ::close(number_);
      throw io_error(message(reader_, ": ", path,
                             folder ? " is a directory, not a file; name a file in it"
                                    : " is a pipe or a device, not a file; write what it gives to a file first"));
    }
    size_ = static_cast<std::uint64_t>(found.st_size);
  }
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;
  ~input_file() { ::close(number_); }

  std::uint64_t size() const { return size_; }
  int number() const { return number_; }
  const std::filesystem::path& path() const { return path_; }
  const std::string& reader() const { return reader_; }

  /// Reads bytes [at, at + n). Throws io_error where the file ends before.
  void read(std::uint64_t at, void* to, std::uint64_t n) const {
    for (std::uint64_t done = 0; done < n;) {
      const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(n - done, std::uint64_t{1} << 30));
      const ssize_t got = ::pread(number_, static_cast<char*>(to) + done, most, static_cast<off_t>(at + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw io_error(message(reader_, ": cannot read ", path_, ": ", std::strerror(errno)));
      if (got == 0)
        throw io_error(
            message(reader_, ": ", path_, " ends after ", at + done, " bytes; it was cut off while it was read"));
      done += static_cast<std::uint64_t>(got);
    }
  }
  /// Its first bytes, at most `n`.
  std::string beginning(std::size_t n) const {
    std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(n, size_)), '\0');
    read(0, bytes.data(), bytes.size());
    return bytes;
  }

 private:
  std::string reader_;
  std::filesystem::path path_;
  int number_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace kiln::io
