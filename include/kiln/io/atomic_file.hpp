// SPDX-License-Identifier: BSL-1.0
// A file that is there whole or not at all: it is written under another name in the same directory, brought to the
// disk, and then takes the place of the one before, which stays if anything fails on the way.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <kiln/core/error.hpp>

namespace kiln::io {

class atomic_file {
 public:
  /// Begins a file that is to be at `path`; a link leads to where it points. `writer` is what errors begin with. Throws
  /// io_error for a place where no file can be made, and for one that is taken by what is no plain file.
  atomic_file(std::string writer, const std::filesystem::path& path) : writer_(std::move(writer)), path_(path) {
    std::error_code unknown;
    for (int links = 0; links < 40 && std::filesystem::is_symlink(path_, unknown); ++links) {
      const std::filesystem::path to = std::filesystem::read_symlink(path_, unknown);
      if (unknown) break;
      path_ = to.is_absolute() ? to : path_.parent_path() / to;
    }
    mode_t mode = 0;
    struct stat there {};
    if (::stat(path_.c_str(), &there) == 0) {
      if (!S_ISREG(there.st_mode))
        throw io_error(message(writer_, ": ", path,
                               S_ISDIR(there.st_mode) ? " is a directory" : " is a pipe or a device",
                               ", not a file; name another place"));
      mode = there.st_mode & 07777;
    } else {
      mode = ::umask(0);
      ::umask(mode);
      mode = 0666 & ~mode;
    }
    std::filesystem::path folder = path_.parent_path();
    if (folder.empty()) folder = ".";
    temporary_ = (folder / ".kiln-XXXXXX").string();
    number_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
    if (number_ < 0) fail("cannot make a file in " + folder.string(), "name another place, or make the directory");
    if (::fchmod(number_, mode) != 0) {
      const int why = errno;
      give_up();
      errno = why;
      fail("cannot set the rights of " + path_.string(), "name another place");
    }
  }
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  /// Without commit(), nothing was written.
  ~atomic_file() { give_up(); }

  /// Says that so many bytes will come: the disk finds room for them in one piece, and a full one is known at once.
  /// Throws io_error for a disk that lacks the room; where a file system cannot say, nothing happens.
  void reserve(std::uint64_t bytes) {
    // Asked for more than there is, ext4 fills the disk before it says so, under everybody else who writes.
    struct statvfs disk {};
    if (::fstatvfs(number_, &disk) == 0 && disk.f_frsize != 0 && bytes / disk.f_frsize > disk.f_bavail) {
      errno = ENOSPC;
    } else if (::fallocate(number_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) {
      reserved_ = bytes;  // the size stays what was written
      return;
    }
    if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT) fail(message("cannot write ", bytes, " bytes"), no_room);
  }
  /// Appends bytes. Throws io_error for a full disk.
  void write(const void* bytes, std::size_t n) {
    const char* from = static_cast<const char*>(bytes);
    while (n > 0) {
      const ssize_t put = ::write(number_, from, std::min(n, std::size_t{1} << 20));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) fail("cannot write", no_room);
      from += put;
      n -= static_cast<std::size_t>(put);
      written_ += static_cast<std::uint64_t>(put);
      // The disk begins with what is there while more is copied, and commit() waits for the rest only. A system that
      // does not do that brings all of it at the end.
      if (written_ - begun_ >= window) {
        ::sync_file_range(number_, static_cast<off_t>(begun_), static_cast<off_t>(written_ - begun_),
                          SYNC_FILE_RANGE_WRITE);
        begun_ = written_;
      }
    }
  }
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// How many bytes there are so far.
  std::uint64_t written() const { return written_; }
  /// Puts the file in its place. Throws io_error; what was there before is then still there.
  void commit() {
    if (reserved_ > written_ && ::ftruncate(number_, static_cast<off_t>(written_)) != 0) fail("cannot write", no_room);
    if (::fsync(number_) != 0) fail("cannot write", "make room there, or name another place");
    if (::close(std::exchange(number_, -1)) != 0) fail("cannot write", "make room there, or name another place");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      fail("cannot put the file in its place", "name another place");
    temporary_.clear();
    // So that the name is on the disk too; where the system does not do that for directories, the file is there anyway.
    std::filesystem::path folder = path_.parent_path();
    const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
      ::fsync(directory);
      ::close(directory);
    }
  }

 private:
  static constexpr std::uint64_t window = std::uint64_t{32} << 20;
  static constexpr const char* no_room = "make room there, or name another place; what was there before is unchanged";

  [[noreturn]] void fail(const std::string& what, const char* way_out) {
    const int why = errno;
    throw io_error(message(writer_, ": ", path_, ": ", what, ": ", std::strerror(why), "; ", way_out));
  }
  void give_up() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }
  std::string writer_;
  std::filesystem::path path_;
  std::string temporary_;
  int number_ = -1;
  std::uint64_t written_ = 0, reserved_ = 0, begun_ = 0;  // begun: what the disk was told to begin with
};

}  // namespace kiln::io
