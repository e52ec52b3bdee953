// SPDX-License-Identifier: BSL-1.0
// The kernels that this process has loaded, by what names their text: tape and plan. The first evaluation of an
// expression in a layout comes here; the next ones find their launches ready (execute.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <kiln/device/cuda/bundle.hpp>
#include <kiln/device/cuda/compile.hpp>
#include <kiln/device/cuda/driver_module.hpp>
#include <kiln/device/cuda/launch.hpp>
#include <kiln/device/cuda/schedule.hpp>

namespace kiln::cuda {

/// The compiled kernels of this process, on whatever device they will be loaded.
inline compile_cache& process_cache() {
  static compile_cache& cache = *new compile_cache;
  return cache;
}

/// A kernel on a device, and what its parameters are.
struct loaded_kernel {
  device_function function;
  std::vector<parameter> parameters;
};

namespace detail {

// What a text depends on. The printers differ in what they make of one plan's shape: the shape is in the key.
inline std::string key_of(const tape_view& tape, const plan& how) {
  std::string key = how.key();
  const auto add = [&key](std::uint64_t part) { key.append(reinterpret_cast<const char*>(&part), sizeof part); };
  for (int i = 0; i < tape.size; ++i) {
    const instruction& x = tape[i];
    for (const std::uint64_t part : {static_cast<std::uint64_t>(x.code), static_cast<std::uint64_t>(x.type),
                                     static_cast<std::uint64_t>(x.a), static_cast<std::uint64_t>(x.b),
                                     static_cast<std::uint64_t>(x.c), static_cast<std::uint64_t>(x.slot), x.literal})
      add(part);
  }
  for (int r = 0; r < tape.result_count; ++r) add(static_cast<std::uint64_t>(tape.results[r]));
  return key;
}

class kernel_table {
 public:
  static kernel_table& instance() {
    static kernel_table& table = *new kernel_table;
    return table;
  }
  std::shared_ptr<const loaded_kernel> find(const std::string& key, int device) const {
    const std::lock_guard lock(mutex_);
    const auto at = kernels_.find({key, device});
    return at == kernels_.end() ? nullptr : at->second;
  }
  // Loads what was compiled; of two threads that come at once, one loads in vain. An image may hold several kernels.
  std::shared_ptr<const loaded_kernel> add(const std::string& key, Cuda device, const source& printed,
                                           const kernel_image& image) {
    const std::pair place{image, device.index};
    std::unique_lock lock(mutex_);
    auto module = modules_.find(place);
    if (module == modules_.end()) {
      lock.unlock();
      loaded_module loaded(device, image->data());
      lock.lock();
      module = modules_.try_emplace(place, std::move(loaded)).first;
    }
    auto made =
        std::make_shared<const loaded_kernel>(loaded_kernel{module->second.function(printed.name), printed.parameters});
    return kernels_.try_emplace({key, device.index}, std::move(made)).first->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::shared_ptr<const loaded_kernel>> kernels_;
  std::map<std::pair<kernel_image, int>, loaded_module> modules_;
};

inline void refuse_in_capture_of(const source& printed) {
  refuse_in_capture(message("the kernel ", printed.name, " has to be compiled or loaded"));
}

/// Whether kernels may be compiled here: a compiler is there, and not forbidden.
inline bool may_compile() {
  return !bundle_required() && find_nvrtc() != nullptr;
}

/// The error of a kernel that no bundle has and that cannot be compiled.
[[noreturn]] inline void fail_without_compiler(const std::string& what, const std::string& kernel, Cuda device) {
  const int architecture = properties(device).architecture;
  const bool required = bundle_required();
  throw device_error(message(
      "cuda: no compiled kernel for ", what, " (", kernel, ") on sm_", architecture, ": ", process_bundles().state(),
      ", and ", required ? "KILN_REQUIRE_BUNDLE=1 forbids to compile one" : "there is no compiler (",
      required ? "" : opened_nvrtc::instance().reason + ")", ". Build the program with kiln_bundle(<target> ARCHS ",
      architecture, required ? "), or unset KILN_REQUIRE_BUNDLE" : ")"));
}

}  // namespace detail

/// A printed kernel on a device from bundles; null if they do not have it, or not for this driver.
inline std::shared_ptr<const loaded_kernel> bundled_kernel(const std::string& key, const source& printed, Cuda device,
                                                           const bundle_list& from = process_bundles()) {
  detail::refuse_in_capture_of(printed);
  const kernel_image image = from.find(printed.text, properties(device).architecture);
  if (!image) return nullptr;
  try {
    return detail::kernel_table::instance().add(key, device, printed, image);
  } catch (const device_error& caught) {  // compiled by a newer CUDA than the driver's: it may be compiled again
    from.note(caught.what());
    return nullptr;
  }
}

/// A printed kernel on a device: out of a bundle, else from the disk or compiled. Throws device_error if that cannot
/// be, and while a graph is captured: the work has to run once before.
inline std::shared_ptr<const loaded_kernel> load_kernel(const std::string& key, const source& printed, Cuda device) {
  if (auto found = bundled_kernel(key, printed, device)) return found;
  if (bundle_required()) detail::fail_without_compiler("one of kiln's own kernels", printed.name, device);
  const nvrtc_functions& compiler = nvrtc();
  const kernel_image image =
      process_cache().get(request_for(printed, properties(device).architecture, compiler), compile_with(compiler));
  return detail::kernel_table::instance().add(key, device, printed, image);
}

/// The kernel of a launch if it is loaded, or in a bundle; else null.
inline std::shared_ptr<const loaded_kernel> find_kernel(const launch& what, Cuda device) {
  const std::string key = detail::key_of(what.job.tape, what.how);
  if (auto known = detail::kernel_table::instance().find(key, device.index)) return known;
  return bundled_kernel(key, what.print(what.job, what.how), device);
}

/// The kernel of a launch, compiled if need be.
inline std::shared_ptr<const loaded_kernel> kernel_of(const launch& what, Cuda device) {
  const std::string key = detail::key_of(what.job.tape, what.how);
  if (auto known = detail::kernel_table::instance().find(key, device.index)) return known;
  return load_kernel(key, what.print(what.job, what.how), device);
}

}  // namespace kiln::cuda
