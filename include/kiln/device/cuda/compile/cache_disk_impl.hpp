// SPDX-License-Identifier: BSL-1.0
// The definitions of cache_disk.hpp. Files are opened in the opened folder, by functions that follow no link and wait
// for nobody; what has been opened is looked at before it is read.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <vector>

#include <kiln/device/cuda/compile/cache_disk.hpp>
#include <kiln/device/cuda/driver/library.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::uint64_t bytes_of(const std::string& text) {
  std::size_t at = 0;
  std::uint64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && value < (std::uint64_t{1} << 50); ++at)
    value = 10 * value + static_cast<std::uint64_t>(text[at] - '0');
  const std::string unit = text.substr(at);
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (at == 0 || shift < 0)
    throw value_error(
        message("KILN_CACHE_SIZE is \"", text, "\": give a number of bytes, or one with K, M or G behind it"));
  if (value << shift >> shift != value)
    throw value_error(message("KILN_CACHE_SIZE is \"", text, "\", more bytes than 64 bits count: give a smaller size"));
  return value << shift;
}

/// A file descriptor, closed with the scope.
class descriptor {
 public:
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&&) = delete;
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

inline bool read_all(int file, void* to, std::size_t size) noexcept {
  for (char* at = static_cast<char*>(to); size > 0;) {
    const ::ssize_t got = ::read(file, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}
inline bool write_all(int file, const void* from, std::size_t size) noexcept {
  for (const char* at = static_cast<const char*>(from); size > 0;) {
    const ::ssize_t put = ::write(file, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

/// Makes a folder and those above it, for this user alone.
inline void make_folders(const std::filesystem::path& folder) {
  const std::string text = folder.string();
  for (std::size_t end = 0; end != text.npos;) {
    end = text.find('/', end + 1);
    ::mkdir(text.substr(0, end).c_str(), 0700);
  }
}

/// Whether nobody but this user can have written what it describes.
inline bool is_own(const struct ::stat& what) noexcept {
  return what.st_uid == ::geteuid() && (what.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// The folder of a cache, opened if it may be used.
class open_folder {
 public:
  explicit open_folder(const std::filesystem::path& path)
      : file_(path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    struct ::stat found {};
    if (!file_ || ::fstat(file_.get(), &found) != 0) return;
    if (found.st_uid != ::geteuid())
      refusal_ = message("the folder of compiled kernels, ", path, ", belongs to user ", found.st_uid,
                         ", not to the one who runs this, ", ::geteuid(), "; name another one with KILN_CACHE_DIR");
    else if (!is_own(found))
      refusal_ = message("the folder of compiled kernels, ", path, ", can be written by others; take that from them (",
                         "chmod go-w) after emptying it, or name another one with KILN_CACHE_DIR");
    else
      good_ = true;
  }
  explicit operator bool() const noexcept { return good_; }
  const std::string& refusal() const { return refusal_; }

  descriptor open(const std::string& name, int how) const noexcept {
    return descriptor(::openat(file_.get(), name.c_str(), how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600));
  }
  bool rename(const std::string& from, const std::string& to) const noexcept {
    return ::renameat(file_.get(), from.c_str(), file_.get(), to.c_str()) == 0;
  }
  void remove(const std::string& name) const noexcept { ::unlinkat(file_.get(), name.c_str(), 0); }
  bool describe(const std::string& name, struct ::stat& to) const noexcept {
    return ::fstatat(file_.get(), name.c_str(), &to, AT_SYMLINK_NOFOLLOW) == 0;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    const int again = ::openat(file_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::DIR* const list = again < 0 ? nullptr : ::fdopendir(again);
    if (list == nullptr) {
      if (again >= 0) ::close(again);
      return all;
    }
    while (const ::dirent* each = ::readdir(list)) all.emplace_back(each->d_name);
    ::closedir(list);
    return all;
  }

 private:
  descriptor file_;
  bool good_ = false;
  std::string refusal_;
};

/// What a file of the cache begins with.
struct cache_header {
  char magic[8] = {};
  std::uint64_t format = 0, size = 0;
  cache_key key, checksum;
  bool operator==(const cache_header& other) const = default;
};

inline cache_header cache_header_of(const cache_key& key, std::string_view image) {
  cache_header h;
  std::memcpy(h.magic, "kilncuda", sizeof(h.magic));
  h.format = cache_format;
  h.size = image.size();
  h.key = key;
  hasher sum;
  sum.add(image);
  h.checksum = sum.key();
  return h;
}

inline constexpr std::string_view cache_extension = ".kernel", cache_beside = "writing-", cache_stamp = "swept";
inline constexpr std::uint64_t largest_image = std::uint64_t{256} << 20;  // a kernel's is a thousandth of that

inline bool is_digits(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == text.npos;
}
inline bool is_kernel_name(std::string_view name) {
  return name.ends_with(cache_extension) && is_digits(name.substr(0, name.size() - cache_extension.size()));
}
inline bool is_beside_name(std::string_view name) {
  return name.starts_with(cache_beside) && is_digits(name.substr(cache_beside.size()));
}
inline std::string kernel_name(const cache_key& key) {
  return text_of(key) + std::string(cache_extension);
}
inline std::string beside_name() {
  ::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::uint64_t words[2] = {static_cast<std::uint64_t>(now.tv_nsec), static_cast<std::uint64_t>(::getpid())};
  if (::getentropy(words, sizeof(words)) != 0) words[0] ^= static_cast<std::uint64_t>(now.tv_sec) << 32;
  return std::string(cache_beside) + text_of(cache_key{words[0], words[1]});
}

inline bool older_than(const struct ::stat& what, ::time_t seconds) {
  return ::time(nullptr) - what.st_mtime > seconds;
}

KILN_INLINE void write_dump(const std::filesystem::path& folder, const std::string& name, std::string_view content) {
  make_folders(folder);
  const descriptor file(
      ::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600));
  struct ::stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || ::ftruncate(file.get(), 0) != 0) return;
  write_all(file.get(), content.data(), content.size());
}

}  // namespace detail

KILN_INLINE cache_settings settings_from_environment() {
  cache_settings s;
  s.dump = detail::environment("KILN_DUMP");
  if (const std::string size = detail::environment("KILN_CACHE_SIZE"); !size.empty())
    s.most_bytes = detail::bytes_of(size);
  if (detail::environment("KILN_CACHE") == "0") return s;
  const auto absolute = [](const char* name) {  // a relative one means something else in every folder
    std::filesystem::path path = detail::environment(name);
    return path.is_absolute() ? path : std::filesystem::path();
  };
  if (const std::string folder = detail::environment("KILN_CACHE_DIR"); !folder.empty()) {
    std::error_code failed;
    s.folder = std::filesystem::absolute(folder, failed);  // what it means where the program began
    if (failed) s.folder.clear();
  } else if (const auto cache = absolute("XDG_CACHE_HOME"); !cache.empty()) {
    s.folder = cache / "kiln";
  } else if (const auto home = absolute("HOME"); !home.empty()) {
    s.folder = home / ".cache" / "kiln";
  }
  return s;
}

KILN_INLINE std::optional<std::string> disk_cache::read(const cache_key& key) const {
  const detail::open_folder folder(settings_.folder);
  if (!folder) return {};
  const std::string name = detail::kernel_name(key);
  const detail::descriptor file = folder.open(name, O_RDONLY);
  if (!file && errno == ENOENT) return {};
  struct ::stat found {};
  detail::cache_header head;
  std::string image;
  const bool good = [&]() -> bool {
    if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || !detail::is_own(found)) return false;
    if (!detail::read_all(file.get(), &head, sizeof(head))) return false;
    if (head.size == 0 || head.size > detail::largest_image || head.key != key ||
        sizeof(head) + head.size != static_cast<std::uint64_t>(found.st_size))
      return false;
    try {
      image.resize(head.size);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return detail::read_all(file.get(), image.data(), image.size()) && head == detail::cache_header_of(key, image);
  }();
  if (!good) {
    folder.remove(name);
    return {};
  }
  // The time of last use, by the day: a write for every read would be expensive on a shared disk.
  if (detail::older_than(found, 24 * 3600)) ::futimens(file.get(), nullptr);
  return image;
}

KILN_INLINE bool disk_cache::write(const cache_key& key, std::string_view image) const {
  if (settings_.folder.empty() || image.size() > std::min(settings_.most_bytes, detail::largest_image)) return false;
  detail::make_folders(settings_.folder);
  const detail::open_folder folder(settings_.folder);
  if (!folder) return false;
  const std::string beside = detail::beside_name();
  {
    const detail::cache_header head = detail::cache_header_of(key, image);
    const detail::descriptor file = folder.open(beside, O_WRONLY | O_CREAT | O_EXCL);
    if (!file) return false;
    if (!detail::write_all(file.get(), &head, sizeof(head)) ||
        !detail::write_all(file.get(), image.data(), image.size())) {
      folder.remove(beside);
      return false;
    }
  }
  if (!folder.rename(beside, detail::kernel_name(key))) {
    folder.remove(beside);
    return false;
  }
  if (grown(folder, image.size())) sweep(folder);
  return true;
}

KILN_INLINE void disk_cache::drop(const cache_key& key) const {
  if (const detail::open_folder folder(settings_.folder); folder) folder.remove(detail::kernel_name(key));
}

KILN_INLINE std::uint64_t disk_cache::sweep() const {
  const detail::open_folder folder(settings_.folder);
  return folder ? sweep(folder) : 0;
}

KILN_INLINE std::uint64_t disk_cache::sweep(const detail::open_folder& folder) const {
  struct entry {
    ::timespec used;
    std::uint64_t size;
    std::string name;
  };
  std::vector<entry> entries;
  std::uint64_t total = 0;
  for (std::string& name : folder.names()) {
    const bool kernel = detail::is_kernel_name(name);
    struct ::stat found {};
    if (!kernel && !detail::is_beside_name(name)) continue;
    if (!folder.describe(name, found) || !S_ISREG(found.st_mode)) continue;  // other processes sweep too
    if (!kernel) {
      if (detail::older_than(found, 3600)) folder.remove(name);
      continue;
    }
    entries.push_back({found.st_mtim, static_cast<std::uint64_t>(found.st_size), std::move(name)});
    total += entries.back().size;
  }
  if (total <= settings_.most_bytes) return total;
  std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const entry& oldest : entries) {
    if (total <= settings_.most_bytes - settings_.most_bytes / 10) break;
    folder.remove(oldest.name);
    total -= oldest.size;
  }
  return total;
}

// Whether enough was written since the last look (by anybody: the folder's stamp is an hour old; or by us: a tenth of
// the limit) to look again. Touching the stamp first makes one process of many do it.
KILN_INLINE bool disk_cache::grown(const detail::open_folder& folder, std::uint64_t bytes) const {
  const std::string stamp(detail::cache_stamp);
  struct ::stat last {};
  const bool is_there = folder.describe(stamp, last);
  const std::uint64_t written = written_ += bytes;
  if (is_there && !detail::older_than(last, 3600) && written < settings_.most_bytes / 10) return false;
  written_ = 0;
  const detail::descriptor file = folder.open(stamp, O_WRONLY | O_CREAT);
  if (file) ::futimens(file.get(), nullptr);
  return true;
}

KILN_INLINE std::string disk_cache::refusal() const {
  return detail::open_folder(settings_.folder).refusal();
}

KILN_INLINE std::filesystem::path disk_cache::place_of(const cache_key& key) const {
  return settings_.folder / detail::kernel_name(key);
}

}  // namespace kiln::cuda
