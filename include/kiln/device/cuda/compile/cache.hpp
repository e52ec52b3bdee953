// SPDX-License-Identifier: BSL-1.0
// From a request to a compiled kernel, by the shortest way: it was made in this process, it lies on disk, or it is
// compiled. Each is made once, however many threads ask for it at the same time. The compiler is passed in.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/compile/cache_disk.hpp>
#include <kiln/device/cuda/compile/cache_key.hpp>
#include <kiln/device/cuda/driver/forks.hpp>

namespace kiln::cuda {

/// What a compiler gives back.
struct compile_result {
  bool good = false;
  std::string image;  ///< a cubin
  std::string log;
};
using compile_function = std::function<compile_result(const compile_request&)>;

/// A compiled kernel, shared by all who asked for it.
using kernel_image = std::shared_ptr<const std::string>;

/// A text with a number before every line, as compilers count them.
std::string numbered(std::string_view text);

class compile_cache {
 public:
  struct statistics {
    std::uint64_t from_memory = 0, from_disk = 0, compiled = 0, failed = 0;
  };

  explicit compile_cache(cache_settings settings = settings_from_environment()) : disk_(std::move(settings)) {}

  /// The image that `request` asks for. Throws device_error with the compiler's words and the numbered text if it does
  /// not compile; the next request tries again.
  kernel_image get(const compile_request& request, const compile_function& compile) {
    const cache_key key = key_of(request);
    std::promise<kernel_image> mine;
    std::shared_future<kernel_image> theirs;
    {
      const std::lock_guard lock(mutex_);
      const auto [at, first] = images_.try_emplace(key);
      if (first)
        at->second.image = mine.get_future().share();
      else
        ++statistics_.from_memory;
      if (!first) theirs = at->second.image;
    }
    if (theirs.valid()) return theirs.get();
    try {
      bool from_disk = false;
      kernel_image image = make(key, request, compile, from_disk);
      {
        const std::lock_guard lock(mutex_);
        if (const auto at = images_.find(key); at != images_.end()) {  // else it was forgotten meanwhile
          at->second.made = image;
          at->second.from_disk = from_disk;
        }
      }
      mine.set_value(image);
      return image;
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        images_.erase(key);
        ++statistics_.failed;
      }
      mine.set_exception(std::current_exception());
      throw;
    }
  }

  /// For an image that checks and still does not load: if it came from disk, it is removed there and the kernel is
  /// compiled anew, once for all that ask. Null if this process has compiled it, and would get the same again.
  kernel_image get_anew(const compile_request& request, const compile_function& compile, const kernel_image& bad) {
    {
      const cache_key key = key_of(request);
      const std::lock_guard lock(mutex_);
      const auto at = images_.find(key);
      if (at != images_.end() && at->second.made == bad) {
        if (!at->second.from_disk) return nullptr;
        disk_.drop(key);
        images_.erase(at);
      }
    }
    return get(request, compile);
  }

  statistics counts() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  /// Forgets what this process has made; the disk keeps it.
  void forget() {
    const std::lock_guard lock(mutex_);
    images_.clear();
  }
  const disk_cache& disk() const { return disk_; }

 private:
  struct entry {
    std::shared_future<kernel_image> image;
    kernel_image made;  // null until it is there
    bool from_disk = false;
  };

  kernel_image make(const cache_key& key, const compile_request& request, const compile_function& compile,
                    bool& from_disk) {
    if (std::optional<std::string> kept = disk_.read(key)) {
      from_disk = true;
      count(&statistics::from_disk);
      return std::make_shared<const std::string>(std::move(*kept));
    }
    dump(request, ".cu", request.text);  // before: a text that does not compile is the one to look at
    compile_result made = compile(request);
    if (!made.good)
      throw device_error(message(
          "cuda: ", request.compiler, " does not compile the kernel ", request.name, " for sm_", request.architecture,
          request.own ? ". This is a mistake in kiln: please report it with this text.\n" : ": correct its text.\n",
          made.log, "\n", numbered(request.text)));
    count(&statistics::compiled);
    dump(request, ".cubin", made.image);
    disk_.write(key, made.image);
    return std::make_shared<const std::string>(std::move(made.image));
  }
  void count(std::uint64_t statistics::*what) {
    const std::lock_guard lock(mutex_);
    ++(statistics_.*what);
  }
  void dump(const compile_request& request, const char* extension, std::string_view content) const {
    const std::filesystem::path& folder = disk_.settings().dump;
    if (folder.empty()) return;
    detail::write_dump(folder, message(request.name, "_sm", request.architecture, extension), content);
  }

  disk_cache disk_;
  mutable detail::device_lock mutex_;
  std::map<cache_key, entry> images_;
  statistics statistics_;
};

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/cache_impl.hpp>
#endif
