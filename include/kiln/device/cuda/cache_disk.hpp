// SPDX-License-Identifier: BSL-1.0
// Compiled kernels on disk, one file each. A file appears whole or not at all (written beside, then renamed), says what
// it is and carries a checksum; one that does not check is removed and made again. Whatever fails here (no home, a
// read-only or full disk, other processes) costs a compilation, never an error. The least recently used go first when
// the folder grows beyond its limit.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/cache_key.hpp>

namespace kiln::cuda {

/// Where compiled kernels are kept, and how.
struct cache_settings {
  std::filesystem::path folder;  ///< empty: nothing is kept on disk
  std::uint64_t most_bytes = std::uint64_t{1} << 30;
  std::filesystem::path dump;  ///< a folder for the text and image of everything that is compiled; empty: none
};

namespace detail {

std::string variable(const char* name);

/// "300", "64K", "512M", "2G" as bytes. Throws value_error for anything else.
std::uint64_t bytes_of(const std::string& text);

}  // namespace detail

/// What the environment asks for: KILN_CACHE=0 keeps nothing on disk; KILN_CACHE_DIR names the folder, which is else
/// kiln in XDG_CACHE_HOME or in .cache of HOME; KILN_CACHE_SIZE limits it ("512M", 1G if not given); KILN_DUMP names a
/// folder for texts and images. Throws value_error for a KILN_CACHE_SIZE that is no size.
cache_settings settings_from_environment();

/// The folder of compiled kernels. Safe to use from several threads and processes.
class disk_cache {
 public:
  explicit disk_cache(cache_settings settings) : settings_(std::move(settings)) {}

  /// The image that was kept under `key`; nothing if there is none that checks.
  std::optional<std::string> read(const cache_key& key) const {
    if (settings_.folder.empty()) return {};
    const std::filesystem::path path = place_of(key);
    std::ifstream file(path, std::ios::binary);
    if (!file) return {};
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    header found;
    std::string image;
    if (bytes.size() >= sizeof(found)) {
      std::memcpy(&found, bytes.data(), sizeof(found));
      image = bytes.substr(sizeof(found));
    }
    std::error_code ignored;
    if (image.empty() || found != header_of(key, image)) {
      std::filesystem::remove(path, ignored);
      return {};
    }
    // The time of last use, by the day: a write for every read would be dear on a shared disk.
    const auto now = std::filesystem::file_time_type::clock::now();
    if (now - std::filesystem::last_write_time(path, ignored) > std::chrono::hours(24))
      std::filesystem::last_write_time(path, now, ignored);
    return image;
  }

  /// Keeps an image under `key`, if that can be done. Returns whether it could.
  bool write(const cache_key& key, std::string_view image) const {
    if (settings_.folder.empty() || image.size() > settings_.most_bytes) return false;
    std::error_code failed;
    const bool made = std::filesystem::create_directories(settings_.folder, failed);
    if (made)  // what is run from there is nobody else's to write
      std::filesystem::permissions(settings_.folder, std::filesystem::perms::owner_all, failed);
    const std::filesystem::path beside = settings_.folder / (temporary_prefix + unique_name());
    const header head = header_of(key, image);
    {
      std::ofstream file(beside, std::ios::binary);
      file.write(reinterpret_cast<const char*>(&head), sizeof(head));
      file.write(image.data(), static_cast<std::streamsize>(image.size()));
      file.close();
      if (!file) {
        std::filesystem::remove(beside, failed);
        return false;
      }
    }
    std::filesystem::rename(beside, place_of(key), failed);
    const bool kept = !failed;
    if (!kept) std::filesystem::remove(beside, failed);
    if (kept && grown(image.size())) sweep();
    return kept;
  }

  /// Removes the least recently used kernels until the folder is a tenth below its limit, and what writers that ended
  /// half-way have left. Returns the bytes that remain.
  std::uint64_t sweep() const {
    struct entry {
      std::filesystem::file_time_type used;
      std::uint64_t size;
      std::filesystem::path path;
    };
    std::vector<entry> entries;
    std::uint64_t total = 0;
    std::error_code failed;
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::directory_iterator at(settings_.folder, failed), end;
    for (; !failed && at != end; at.increment(failed)) {
      std::error_code gone;  // other processes sweep too
      const std::filesystem::path path = at->path();
      const auto used = std::filesystem::last_write_time(path, gone);
      const std::uint64_t size = std::filesystem::file_size(path, gone);
      if (gone) continue;
      if (path.filename().string().starts_with(temporary_prefix)) {
        if (now - used > std::chrono::hours(1)) std::filesystem::remove(path, gone);
      } else if (path.extension() == extension) {
        entries.push_back({used, size, path});
        total += size;
      }
    }
    if (total <= settings_.most_bytes) return total;
    std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.used < b.used; });
    for (const entry& oldest : entries) {
      if (total <= settings_.most_bytes - settings_.most_bytes / 10) break;
      std::error_code gone;
      std::filesystem::remove(oldest.path, gone);
      total -= oldest.size;
    }
    return total;
  }

  std::filesystem::path place_of(const cache_key& key) const { return settings_.folder / (text_of(key) + extension); }
  const cache_settings& settings() const { return settings_; }

 private:
  static constexpr const char* extension = ".kernel";
  static constexpr const char* temporary_prefix = "writing-";

  struct header {
    char magic[8] = {};
    std::uint64_t format = 0, size = 0;
    cache_key key, checksum;
    bool operator==(const header& other) const = default;
  };
  static header header_of(const cache_key& key, std::string_view image) {
    header h;
    std::memcpy(h.magic, "kilncuda", sizeof(h.magic));
    h.format = cache_format;
    h.size = image.size();
    h.key = key;
    detail::hasher sum;
    sum.add(image);
    h.checksum = sum.key();
    return h;
  }
  static std::string unique_name() {
    std::random_device random;
    return text_of({(std::uint64_t{random()} << 32) | random(), (std::uint64_t{random()} << 32) | random()});
  }
  // Whether enough was written since the last look (by anybody: the folder's stamp is an hour old; or by us: a tenth of
  // the limit) to look again. Touching the stamp first makes one process of many do it.
  bool grown(std::uint64_t bytes) const {
    const std::filesystem::path stamp = settings_.folder / "swept";
    std::error_code failed;
    const auto now = std::filesystem::file_time_type::clock::now();
    const auto last = std::filesystem::last_write_time(stamp, failed);
    written_ += bytes;
    if (!failed && now - last < std::chrono::hours(1) && written_ < settings_.most_bytes / 10) return false;
    written_ = 0;
    if (failed) std::ofstream(stamp).put('\n');
    std::filesystem::last_write_time(stamp, now, failed);
    return true;
  }

  cache_settings settings_;
  mutable std::atomic<std::uint64_t> written_{0};
};

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/cache_disk_impl.hpp>
#endif
