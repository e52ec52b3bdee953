// SPDX-License-Identifier: BSL-1.0
// Compiled kernels on disk, one file each. A file appears whole or not at all (written beside, then renamed), says what
// it is and carries a checksum; one that does not check is removed and made again. Whatever fails here (no home, a
// read-only or full disk, other processes) costs a compilation, never an error. The least recently used go first when
// the folder grows beyond its limit.
//
// What lies there is run, so only what this user wrote is read: a folder or file that belongs to somebody else, or that
// others can write, is not used. The files carry no signature besides: its key would have to lie in a file with the
// same owner and mode, and who can read and write as this user can replace the program as well. Links are followed to
// the folder, never to a file in it, and nothing there is touched but plain files with names of kiln's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/compile/cache_key.hpp>

namespace kiln::cuda {

/// Where compiled kernels are kept, and how.
struct cache_settings {
  std::filesystem::path folder;  ///< empty: nothing is kept on disk
  std::uint64_t most_bytes = std::uint64_t{1} << 30;
  std::filesystem::path dump;  ///< a folder for the text and image of everything that is compiled; empty: none
};

namespace detail {

/// "300", "64K", "512M", "2G" as bytes. Throws value_error for anything else, and for more than 64 bits hold.
std::uint64_t bytes_of(const std::string& text);

/// Writes a file for people to look at, in a folder that is made if need be. Whatever fails is left out; a link, or
/// what is no plain file, is not written to.
void write_dump(const std::filesystem::path& folder, const std::string& name, std::string_view content);

class open_folder;

}  // namespace detail

/// What the environment asks for: KILN_CACHE=0 keeps nothing on disk; KILN_CACHE_DIR names the folder, which is else
/// kiln in XDG_CACHE_HOME or in .cache of HOME, if those are absolute paths; KILN_CACHE_SIZE limits it ("512M", 1G if
/// not given); KILN_DUMP names a folder for texts and images. A setuid program asks for nothing of that, and keeps
/// nothing. Throws value_error for a KILN_CACHE_SIZE that is no size.
cache_settings settings_from_environment();

/// The folder of compiled kernels. Safe to use from several threads and processes.
class disk_cache {
 public:
  explicit disk_cache(cache_settings settings) : settings_(std::move(settings)) {}

  /// The image that was kept under `key`; nothing if there is none that checks.
  std::optional<std::string> read(const cache_key& key) const;

  /// Keeps an image under `key`, if that can be done. Returns whether it could.
  bool write(const cache_key& key, std::string_view image) const;

  /// Removes what is kept under `key`: an image that checks and still does not load.
  void drop(const cache_key& key) const;

  /// Removes the least recently used kernels until the folder is a tenth below its limit, and what writers that ended
  /// half-way have left. Returns the bytes that remain.
  std::uint64_t sweep() const;

  /// Why the folder that is there is not used, in a sentence; empty if it is used, or not there yet.
  std::string refusal() const;

  std::filesystem::path place_of(const cache_key& key) const;
  const cache_settings& settings() const { return settings_; }

 private:
  bool grown(const detail::open_folder& folder, std::uint64_t bytes) const;
  std::uint64_t sweep(const detail::open_folder& folder) const;

  cache_settings settings_;
  mutable std::atomic<std::uint64_t> written_{0};
};

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/cache_disk_impl.hpp>
#endif
