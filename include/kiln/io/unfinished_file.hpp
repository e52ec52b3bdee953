// SPDX-License-Identifier: BSL-1.0
// Names of files that are still being written, and what becomes of those whose writers were killed.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::io::detail {

inline constexpr std::string_view unfinished_prefix = ".kiln-";
inline constexpr std::string_view unfinished_letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
inline constexpr std::size_t unfinished_random = 6;  // letters after the prefix

/// Whether a file has a name as draw_unfinished_name gives it.
inline bool is_unfinished_name(std::string_view name) {
  return name.size() == unfinished_prefix.size() + unfinished_random && name.starts_with(unfinished_prefix) &&
         name.find_first_not_of(unfinished_letters, unfinished_prefix.size()) == name.npos;
}

/// Draws the last letters of a path that ends in such a name. Allocates nothing.
inline void draw_unfinished_name(std::string& path) noexcept {
  static std::atomic<std::uint64_t> drawn{0};
  std::uint64_t bits = 0;
  // A system without random numbers has names that differ within the process; others' are then there already.
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) < 8) bits = ++drawn + (std::uint64_t(::getpid()) << 20);
  for (std::size_t i = path.size() - unfinished_random; i < path.size(); ++i, bits /= unfinished_letters.size())
    path[i] = unfinished_letters[bits % unfinished_letters.size()];
}

/// Waits for the lock that says that a file is being written. File systems without locks go on without.
inline void lock_unfinished(int file) noexcept {
  while (::flock(file, LOCK_EX) != 0 && errno == EINTR) {
  }
}

/// Removes files of this user with such names that no living process has locked: their writers were killed.
inline void sweep_unfinished(const char* folder) noexcept {
  DIR* const entries = ::opendir(folder);
  if (entries == nullptr) return;
  const int at = ::dirfd(entries);
  while (const dirent* const entry = ::readdir(entries)) {
    if (!is_unfinished_name(entry->d_name)) continue;
    // Locks of network file systems are for who may write.
    int file = ::openat(at, entry->d_name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) file = ::openat(at, entry->d_name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) continue;
    struct stat found {};
    if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
        ::flock(file, LOCK_EX | LOCK_NB) == 0)
      ::unlinkat(at, entry->d_name, 0);
    ::close(file);
  }
  ::closedir(entries);
}

/// sweep_unfinished of a folder, once in a while: large folders take their time, and files of a process that lives are
/// removed by itself.
inline void sweep_unfinished_once(const char* folder) noexcept {
  static std::array<std::atomic<std::uint64_t>, 16> swept{};
  struct statx found {};
  if (::statx(AT_FDCWD, folder, 0, STATX_INO | STATX_BTIME, &found) != 0) return;
  // Its number may have been that of another folder before.
  std::uint64_t key = 0;
  for (const std::uint64_t part :
       {std::uint64_t{found.stx_dev_major}, std::uint64_t{found.stx_dev_minor}, std::uint64_t{found.stx_ino},
        static_cast<std::uint64_t>(found.stx_btime.tv_sec), std::uint64_t{found.stx_btime.tv_nsec}})
    key = (key ^ part) * 0x9e3779b97f4a7c15u;
  if (swept[key >> 60].exchange(key) != key) sweep_unfinished(folder);
}

}  // namespace kiln::io::detail
