// SPDX-License-Identifier: BSL-1.0
// The kernels that this process has loaded, by what names their text: tape and plan. The first evaluation of an
// expression in a layout comes here; the next ones find their launches ready (execute.hpp).
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/compile/bundle.hpp>
#include <kiln/device/cuda/compile/compile.hpp>
#include <kiln/device/cuda/driver/driver_module.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/plan/launch.hpp>
#include <kiln/device/cuda/print/print_kernel.hpp>

namespace kiln::cuda {

/// The compiled kernels of this process, on whatever device they will be loaded.
compile_cache& process_cache();

/// A kernel on a device, what its parameters are, and how it runs there.
struct loaded_kernel {
  device_function function;
  std::vector<parameter> parameters;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
  std::int64_t resident = 1;     ///< blocks that the whole device runs at once, as its driver says for this kernel
};

namespace detail {

// What a text depends on. The printers differ in what they make of one plan's shape: the shape is in the key.
std::string key_of(const tape_view& tape, const plan& how);

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
      check_image(*image);
      loaded_module loaded(device, image->data());
      lock.lock();
      module = modules_.try_emplace(place, std::move(loaded)).first;
    }
    device_function function = module->second.function(printed.name);
    if (printed.waits_for_grid) function.waits_for_grid();
    if (printed.shared_bytes > 0) function.allow_shared_bytes(printed.shared_bytes);
    // A cluster's multiprocessors lie side by side: some are left over.
    const std::int64_t blocks =
        printed.cluster > 1
            ? std::int64_t{function.clusters(printed.cluster, printed.threads, printed.shared_bytes)} * printed.cluster
            : std::int64_t{function.blocks_per_multiprocessor(printed.threads, printed.shared_bytes)} *
                  properties(device).multiprocessors;
    auto made = std::make_shared<const loaded_kernel>(
        loaded_kernel{function, printed.parameters, printed.shared_bytes, std::max<std::int64_t>(1, blocks)});
    return kernels_.try_emplace({key, device.index}, std::move(made)).first->second;
  }

 private:
  mutable device_lock mutex_;
  std::map<std::pair<std::string, int>, std::shared_ptr<const loaded_kernel>> kernels_;
  std::map<std::pair<kernel_image, int>, loaded_module> modules_;
};

void refuse_in_capture_of(const source& printed);

std::shared_ptr<const loaded_kernel> load_compiled(const std::string& key, const source& printed, Cuda device,
                                                   compile_cache& cache, bool own);

/// Whether kernels may be compiled here: a compiler is there, and not forbidden.
bool may_compile();

/// The error of a kernel that no bundle has and that cannot be compiled.
[[noreturn]] void fail_without_compiler(const std::string& what, const std::string& kernel, Cuda device);

}  // namespace detail

/// A printed kernel on a device from bundles; null if they do not have it, or not for this driver.
std::shared_ptr<const loaded_kernel> bundled_kernel(const std::string& key, const source& printed, Cuda device,
                                                    const bundle_list& from = process_bundles());

/// A printed kernel on a device: out of a bundle, else from the disk or compiled. Throws device_error if that cannot
/// be, and while a graph is captured: the work has to run once before.
std::shared_ptr<const loaded_kernel> load_kernel(const std::string& key, const source& printed, Cuda device,
                                                 compile_cache& cache = process_cache());

/// Threads that compile printed kernels into the process's cache, or read them from the disk, before they are asked
/// for.
class compile_ahead {
 public:
  compile_ahead();
  compile_ahead(const compile_ahead&) = delete;
  compile_ahead& operator=(const compile_ahead&) = delete;
  /// Waits for what has begun; the rest is left to whoever asks for it.
  ~compile_ahead();

  /// Compiles a kernel for a device soon, unless a bundle has it or nothing may be compiled. A text that does not
  /// compile is an error where it is asked for.
  void add(const source& printed, Cuda device);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<compile_request> requests_;
  std::set<std::pair<std::string, int>> seen_;  // names and devices
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

/// The same of a text that a user wrote: never in a bundle, and a mistake in it is his.
std::shared_ptr<const loaded_kernel> load_own_kernel(const std::string& key, const source& written, Cuda device);

/// The kernel of a launch if it is loaded, or in a bundle; else null.
std::shared_ptr<const loaded_kernel> find_kernel(const launch& what, Cuda device);

/// The kernel of a launch, compiled if need be.
std::shared_ptr<const loaded_kernel> kernel_of(const launch& what, Cuda device);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/kernels_impl.hpp>
#endif
