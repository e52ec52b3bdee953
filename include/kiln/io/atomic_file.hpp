// SPDX-License-Identifier: BSL-1.0
// A file that is there whole or not at all: it is written without a name, brought to the disk, and then takes the place
// of the one before, which stays if anything fails on the way. A file system without unnamed files has it under another
// name in the same directory; those of killed writers are removed by the next one.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/io/unfinished_file.hpp>

namespace kiln::io {

class atomic_file {
 public:
  /// Whether the file has a name while it is written: only where it has to, or always.
  enum class unfinished { unnamed, named };

  /// Begins a file that is to be at `path`; a link leads to where it points. `writer` is what errors begin with. Throws
  /// io_error for a place where no file can be made, and for one that is taken by what is no plain file.
  atomic_file(std::string writer, const std::filesystem::path& path, unfinished how = unfinished::unnamed)
      : writer_(std::move(writer)), path_(path) {
    std::error_code unknown;
    for (int links = 0; links < 40 && std::filesystem::is_symlink(path_, unknown); ++links) {
      const std::filesystem::path to = std::filesystem::read_symlink(path_, unknown);
      if (unknown) break;
      path_ = to.is_absolute() ? to : path_.parent_path() / to;
    }
    struct stat there {};
    const bool taken = ::stat(path_.c_str(), &there) == 0;
    if (taken && !S_ISREG(there.st_mode))
      throw io_error(message(writer_, ": ", path, S_ISDIR(there.st_mode) ? " is a directory" : " is a pipe or a device",
                             ", not a file; name another place"));
    folder_ = path_.has_parent_path() ? path_.parent_path().string() : ".";
    temporary_ = folder_ + "/" + std::string(detail::unfinished_prefix) + std::string(detail::unfinished_random, 'X');
    detail::sweep_unfinished_once(folder_.c_str());
    // The system takes the umask off: to ask for it is to set it, for all threads, and for good in a process that ends.
    const mode_t rights = taken ? there.st_mode & 0777 : 0666;
    if (how == unfinished::unnamed) open_unnamed(rights);
    if (number_ < 0) open_named(rights);
    if (number_ < 0) fail("cannot make a file in " + folder_, "name another place, or make the directory");
    if (taken && ::fchmod(number_, there.st_mode & 07777) != 0) {
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
  /// Puts the file in its place. Throws io_error; what was there before is then still there. Allocates nothing before
  /// it throws, so that what ran out of memory says nothing of a file that is in its place.
  void commit() {
    if (reserved_ > written_ && ::ftruncate(number_, static_cast<off_t>(written_)) != 0) fail("cannot write", no_room);
    if (::fsync(number_) != 0) fail("cannot write", "make room there, or name another place");
    if (!take_place()) fail("cannot put the file in its place", "name another place");
    named_ = false;
    ::close(std::exchange(number_, -1));
    // So that the name is on the disk too; where the system does not do that for directories, the file is there anyway.
    const int directory = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
    if (std::exchange(named_, false)) ::unlink(temporary_.c_str());  // before another process finds it unlocked
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

  /// Where the system shows an open file, of which a name can be made.
  std::array<char, 32> shown() const noexcept {
    std::array<char, 32> place{};
    std::snprintf(place.data(), place.size(), "/proc/self/fd/%d", number_);
    return place;
  }
  void open_unnamed(mode_t rights) noexcept {
    number_ = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, rights);
    if (number_ >= 0 && ::access(shown().data(), F_OK) != 0) ::close(std::exchange(number_, -1));
  }
  void open_named(mode_t rights) noexcept {
    for (int tries = 0; tries < 100; ++tries) {
      detail::draw_unfinished_name(temporary_);
      number_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rights);
      if (number_ < 0 && errno == EEXIST) continue;
      if (number_ < 0) return;
      detail::lock_unfinished(number_);
      struct stat made {};
      named_ = ::fstat(number_, &made) != 0 || made.st_nlink > 0;
      if (named_) return;
      ::close(std::exchange(number_, -1));  // another process took it for one of a killed writer, before the lock
    }
  }
  /// Gives the file its name. A file that takes another's place has one of its own for a moment before.
  bool take_place() noexcept {
    if (!named_) {
      detail::lock_unfinished(number_);
      if (::linkat(AT_FDCWD, shown().data(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
      for (int tries = 0; tries < 100 && errno == EEXIST && !named_; ++tries) {
        detail::draw_unfinished_name(temporary_);
        named_ = ::linkat(AT_FDCWD, shown().data(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0;
      }
      if (!named_) return false;
    }
    return ::rename(temporary_.c_str(), path_.c_str()) == 0;
  }

  std::string writer_;
  std::filesystem::path path_;
  std::string folder_, temporary_;
  bool named_ = false;  // as temporary_
  int number_ = -1;
  std::uint64_t written_ = 0, reserved_ = 0, begun_ = 0;  // begun: what the disk was told to begin with
};

}  // namespace kiln::io
