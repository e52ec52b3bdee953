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

#include <kiln/device/cuda/compile.hpp>
#include <kiln/device/cuda/driver_module.hpp>
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
  // Loads what was compiled; of two threads that come at once, one loads in vain.
  std::shared_ptr<const loaded_kernel> add(const std::string& key, Cuda device, const source& printed,
                                           const kernel_image& image) {
    loaded_module module(device, image->data());
    auto made = std::make_shared<const loaded_kernel>(loaded_kernel{module.function(printed.name), printed.parameters});
    const std::lock_guard lock(mutex_);
    const auto [at, first] = kernels_.try_emplace({key, device.index}, std::move(made));
    if (first) modules_.push_back(std::move(module));
    return at->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::shared_ptr<const loaded_kernel>> kernels_;
  std::vector<loaded_module> modules_;
};

}  // namespace detail

/// A printed kernel on a device: loaded before, else compiled or taken from the disk. Throws device_error if that
/// cannot be, and while a graph is captured: the work has to run once before.
inline std::shared_ptr<const loaded_kernel> load_kernel(const std::string& key, const source& printed, Cuda device) {
  detail::refuse_in_capture(message("the kernel ", printed.name, " has to be compiled or loaded"));
  const nvrtc_functions& compiler = nvrtc();
  const kernel_image image =
      process_cache().get(request_for(printed, properties(device).architecture, compiler), compile_with(compiler));
  return detail::kernel_table::instance().add(key, device, printed, image);
}

/// The kernel of a launch.
inline std::shared_ptr<const loaded_kernel> kernel_of(const launch& what, Cuda device) {
  const std::string key = detail::key_of(what.job.tape, what.how);
  if (auto known = detail::kernel_table::instance().find(key, device.index)) return known;
  return load_kernel(key, what.print(what.job, what.how), device);
}

}  // namespace kiln::cuda
