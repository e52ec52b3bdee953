// SPDX-License-Identifier: BSL-1.0
// Bundles: kernels that were compiled when the program was built, in a file or in a section of the program itself. Read
// `bundle_list::find`. Nothing in a bundle is trusted: what does not check is not there, and the reason is kept for the
// error that follows. bundle_write.hpp makes them.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/compile/bundle_file.hpp>
#include <kiln/device/cuda/compile/cache.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/library.hpp>

namespace kiln::cuda {

/// One bundle. Images are read when they are asked for, and kept.
class bundle {
 public:
  /// Reads the tables. Throws device_error if this is no bundle, or a damaged one.
  explicit bundle(detail::file_part file) : file_(std::move(file)) {
    detail::bundle_header head;
    if (!file_.read(&head, 0, sizeof head) || std::string_view(head.magic, sizeof head.magic) != detail::bundle_magic ||
        head.format != bundle_format)
      fail("is no bundle of this version of kiln");
    const auto entries = file_.table<detail::bundle_entry>(sizeof head, head.entries);
    if (!entries) fail("ends within its tables");
    const std::uint64_t next = sizeof head + head.entries * sizeof(detail::bundle_entry);
    const auto images = file_.table<detail::bundle_image>(next, head.images);
    if (!images) fail("ends within its tables");
    if (!(detail::checksum_of(*entries, *images) == head.checksum)) fail("is damaged: its tables do not check");
    for (const detail::bundle_entry& e : *entries) {
      if (e.image >= images->size()) fail("is damaged: a kernel has no image");
      images_of_.emplace(e.key, static_cast<std::size_t>(e.image));
    }
    images_ = *images;
  }

  /// The image under a key; null if there is none. Throws device_error if it is damaged.
  kernel_image find(const cache_key& key) const {
    const auto at = images_of_.find(key);
    if (at == images_of_.end()) return nullptr;
    const std::lock_guard lock(*mutex_);
    kernel_image& known = read_[at->second];
    if (known) return known;
    const detail::bundle_image& where = images_[at->second];
    const auto bytes = file_.table<char>(where.offset, where.size);
    if (!bytes) fail("ends within an image");
    auto image = std::make_shared<const std::string>(bytes->data(), bytes->size());
    if (!(detail::checksum_of(*image) == where.checksum)) fail("is damaged: an image does not check");
    return known = std::move(image);
  }
  /// The architectures that it has kernels for, in order.
  std::vector<int> architectures() const {
    std::vector<int> all;
    for (const detail::bundle_image& image : images_) all.push_back(static_cast<int>(image.architecture));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  std::size_t size() const { return images_of_.size(); }
  const std::string& path() const { return file_.path(); }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw device_error(
        message("the bundle in ", file_.path(), " ", what, ": build the program with kiln_bundle again"));
  }

  detail::file_part file_;
  std::map<cache_key, std::size_t> images_of_;
  std::vector<detail::bundle_image> images_;
  mutable std::map<std::size_t, kernel_image> read_;
  std::unique_ptr<detail::device_lock> mutex_ = std::make_unique<detail::device_lock>();
};

/// Some bundles, asked one after another.
class bundle_list {
 public:
  /// Takes a bundle; one that does not check is left out, and `state` says so.
  void add(const detail::file_part& file) {
    try {
      bundles_.emplace_back(file);
    } catch (const device_error& caught) {
      note(caught.what());
    }
  }
  /// The machine code of a printed kernel for a device of this architecture, or, where there is none, for the highest
  /// one of the same major version below it, whose code such a device runs. Null if no bundle has it.
  kernel_image find(const std::string& text, int architecture) const {
    for (const bundle& from : bundles_) {
      const std::vector<int> all = from.architectures();
      for (auto at = all.rbegin(); at != all.rend(); ++at) {
        if (*at > architecture || *at / 10 != architecture / 10) continue;
        try {
          if (kernel_image found = from.find(bundle_key(text, *at))) return found;
        } catch (const device_error& caught) {
          note(caught.what());
        }
      }
    }
    return nullptr;
  }
  bool empty() const { return bundles_.empty(); }
  /// What there is, as a part of an error: "there is no bundle", or the bundles, their architectures and their faults.
  std::string state() const {
    std::string text;
    for (const bundle& one : bundles_) {
      text += message(text.empty() ? "" : "; ", "the bundle in ", one.path(), " has ", one.size(), " kernels, for sm_");
      const std::vector<int> all = one.architectures();
      for (std::size_t i = 0; i < all.size(); ++i) text += message(i == 0 ? "" : ", ", all[i]);
    }
    const std::lock_guard lock(*mutex_);
    for (const std::string& fault : faults_) text += (text.empty() ? "" : "; ") + fault;
    return text.empty() ? "this program has no bundle" : text;
  }

  /// Keeps a fault of a bundle for `state`.
  void note(const std::string& fault) const {
    const std::lock_guard lock(*mutex_);
    if (std::find(faults_.begin(), faults_.end(), fault) == faults_.end()) faults_.push_back(fault);
  }

 private:
  std::vector<bundle> bundles_;
  mutable std::vector<std::string> faults_;
  std::unique_ptr<detail::device_lock> mutex_ = std::make_unique<detail::device_lock>();
};

/// Whether KILN_REQUIRE_BUNDLE=1 forbids to compile kernels and to take them from the disk's cache.
bool bundle_required();

/// The bundles of this process: the file that KILN_BUNDLE names, else the sections of the program and of the shared
/// library that kiln is compiled into. Throws device_error if KILN_BUNDLE names a file that cannot be read.
inline const bundle_list& process_bundles() {
  static const bundle_list& list = *[] {
    auto found = std::make_unique<bundle_list>();
    if (const std::string named = detail::environment("KILN_BUNDLE"); !named.empty()) {
      const auto file = detail::file_part::whole(named);
      if (!file)
        throw device_error(message("KILN_BUNDLE names ", named, ", which cannot be read: correct or unset it"));
      found->add(*file);
      return found.release();
    }
    std::vector<std::string> places{"/proc/self/exe"};
    ::Dl_info mine{};
    if (::dladdr(reinterpret_cast<const void*>(&process_bundles), &mine) != 0 && mine.dli_fname != nullptr)
      places.emplace_back(mine.dli_fname);
    std::vector<std::string> seen;
    for (const std::string& place : places) {
      char real[4096];
      const char* const path = ::realpath(place.c_str(), real);
      if (path == nullptr || std::find(seen.begin(), seen.end(), path) != seen.end()) continue;
      seen.emplace_back(path);
      if (const auto section = detail::bundle_section_of(path)) found->add(*section);
    }
    return found.release();
  }();
  return list;
}

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/bundle_impl.hpp>
#endif
