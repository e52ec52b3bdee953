// SPDX-License-Identifier: BSL-1.0
// Compiled kernels on a device: loading machine code, and launching its kernels.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/driver/driver.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/library.hpp>
#include <kiln/device/cuda/driver/stream.hpp>

namespace kiln::cuda {

/// Blocks of a grid, threads of a block, and dynamic shared memory of a block.
struct launch_size {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  std::size_t shared_bytes = 0;
};

/// Machine code that cannot be loaded, or lacks the kernel that is asked of it.
struct bad_image : device_error {
  using device_error::device_error;
};

/// Throws bad_image for an image that says it is longer than it is. A driver is told no size: it would read on behind
/// the end of a file that was cut off.
void check_image(std::string_view image);

namespace detail {

std::atomic<bool>& waits_after_launch();
std::atomic<bool>& launches_early();

// The oldest driver whose graphs record that a kernel may be launched early.
inline constexpr int driver_with_early_launches = 12030;

// Names that may be printed at any later time, after their module is gone too.
inline const char* kept_name(const std::string& name) {
  static device_lock& mutex = *new device_lock;
  static std::set<std::string>& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace detail

/// A kernel of a loaded module; a plain handle, valid while the module is.
class device_function {
 public:
  device_function() = default;
  device_function(Cuda device, function_handle handle, const char* name)
      : device_(device), handle_(handle), name_(name) {}

  /// Says that the kernel begins by waiting for the one before it in its stream (griddepcontrol.wait), before it
  /// touches memory: it may be launched while that one still runs, where device and driver can.
  void waits_for_grid() {
    early_ = properties(device_).architecture >= 90 && driver().version >= detail::driver_with_early_launches;
  }

  /// Queues the kernel in a stream of its device. `arguments` points to one pointer per parameter, whose values are
  /// copied. Throws device_error for a size that the device cannot launch; what goes wrong while the kernel runs shows
  /// at a later call, or at this one after set_launch_waits(true).
  void launch(const launch_size& size, const stream& where, void** arguments) const {
    if (where.device() != device_) {
      throw device_error(message("launch of ", name_, ": loaded on device ", device_.index,
                                 ", but the stream is of device ", where.device().index, "; load it there too"));
    }
    launch(size, where, arguments, device_scope(device_));
  }
  /// The same within a scope of the stream's device, which several launches share: asking for the current context costs
  /// a call of the driver each time.
  void launch(const launch_size& size, const stream& where, void** arguments, const device_scope&) const {
    const driver_functions& api = driver();
    const driver_result result =
        early_ && detail::launches_early().load(std::memory_order_relaxed)
            ? launch_early(api, size, where.handle(), arguments)
            : api.launch_kernel(handle_, size.grid_x, size.grid_y, size.grid_z, size.block_x, size.block_y,
                                size.block_z, static_cast<unsigned>(size.shared_bytes), where.handle(), arguments,
                                nullptr);
    if (result != driver_result::success) fail(result, size);
    detail::last_launched.store(name_, std::memory_order_relaxed);
    if (detail::waits_after_launch().load(std::memory_order_relaxed) && !detail::capturing)
      check(api.stream_synchronize(where.handle()), std::string("launch of ") + name_);
  }

  /// How many blocks of this size one multiprocessor holds at a time.
  int blocks_per_multiprocessor(int threads, std::size_t shared_bytes) const {
    const device_scope scope(device_);
    int blocks = 0;
    check(driver().blocks_per_multiprocessor(&blocks, handle_, threads, shared_bytes), "blocks_per_multiprocessor");
    return blocks;
  }
  /// How many clusters of a kernel that is made of them the whole device runs at a time.
  int clusters(int cluster, int threads, std::size_t shared_bytes) const {
    const device_scope scope(device_);
    const launch_config config{.grid_x = static_cast<unsigned>(cluster),
                               .block_x = static_cast<unsigned>(threads),
                               .shared_bytes = static_cast<unsigned>(shared_bytes)};
    int count = 0;
    check(driver().active_clusters(&count, handle_, &config), "cuOccupancyMaxActiveClusters");
    return count;
  }
  /// Registers of a thread, bytes of local memory (spilled registers), and so on.
  int attribute(function_attribute which) const {
    const device_scope scope(device_);
    int value = 0;
    check(driver().function_get_attribute(&value, which, handle_), "cuFuncGetAttribute");
    return value;
  }
  /// Lets blocks have this much dynamic shared memory, beside what the kernel declares. Without it both may take 48 KiB
  /// together. Throws device_error if both exceed the device's limit.
  void allow_shared_bytes(std::size_t bytes) const {
    const device_scope scope(device_);
    const auto declared = static_cast<std::size_t>(attribute(function_attribute::shared_size_bytes));
    if (bytes + declared <= most_shared_bytes) return;
    const auto most = static_cast<std::size_t>(properties(device_).shared_bytes_per_block);
    if (bytes + declared > most) {
      throw device_error(message("kernel ", name_, ": a block would need ", bytes,
                                 " bytes of shared memory beside the ", declared, " that the kernel declares, ",
                                 properties(device_).name, " has ", most, "; use shorter rows or smaller tiles"));
    }
    check(driver().function_set_attribute(handle_, function_attribute::max_dynamic_shared_size_bytes,
                                          static_cast<int>(bytes)),
          "cuFuncSetAttribute");
  }
  /// Throws value_error if the kernel's parameters are not of these sizes, as far as the driver tells (from CUDA 12.4
  /// on): a launch would read beyond the arguments.
  void check_parameters(std::span<const std::size_t> sizes) const {
    const auto get = driver().function_get_parameter;
    if (get == nullptr) return;
    const device_scope scope(device_);
    for (std::size_t i = 0; i <= sizes.size(); ++i) {
      std::size_t offset = 0, size = 0;
      const bool there = get(handle_, i, &offset, &size) == driver_result::success;
      if (there && i < sizes.size() && size == sizes[i]) continue;
      if (!there && i == sizes.size()) return;
      throw value_error(there && i < sizes.size()
                            ? message("kernel ", name_, ": argument ", i, " has ", sizes[i],
                                      " bytes and its parameter ", size, ": give exactly the parameter's type")
                            : message("kernel ", name_, ": ", sizes.size(), " arguments, but it has ",
                                      there ? "more" : "fewer", " parameters"));
    }
  }
  const char* name() const { return name_; }
  Cuda device() const { return device_; }

 private:
  driver_result launch_early(const driver_functions& api, const launch_size& size, stream_handle where,
                             void** arguments) const {
    launch_attribute attribute;
    const launch_config config{.grid_x = size.grid_x,
                               .grid_y = size.grid_y,
                               .grid_z = size.grid_z,
                               .block_x = size.block_x,
                               .block_y = size.block_y,
                               .block_z = size.block_z,
                               .shared_bytes = static_cast<unsigned>(size.shared_bytes),
                               .stream = where,
                               .attributes = &attribute,
                               .attribute_count = 1};
    return api.launch_kernel_with(&config, handle_, arguments, nullptr);
  }
  [[noreturn]] void fail(driver_result result, const launch_size& size) const {
    if (handle_ == nullptr) throw device_error("launch: no kernel; take one from a loaded_module");
    std::string operation = message("launch of ", name_, " with ", size.grid_x, "x", size.grid_y, "x", size.grid_z,
                                    " blocks of ", size.block_x, "x", size.block_y, "x", size.block_z, " threads, ",
                                    size.shared_bytes, " bytes of shared memory each");
    if (result == driver_result::invalid_value || result == driver_result::launch_out_of_resources)
      operation += message(" (it takes at most ", attribute(function_attribute::max_threads_per_block),
                           " threads a block, of ", attribute(function_attribute::registers), " registers each)");
    check(result, operation);
    throw device_error(operation);
  }

  Cuda device_;
  function_handle handle_ = nullptr;
  const char* name_ = "";
  bool early_ = false;
};

/// Machine code (a cubin) on a device, for as long as this object lives. Moves.
class loaded_module {
 public:
  /// Loads an image, which must be as long as it says (check_image). Throws bad_image if it is none, or not for this
  /// device's architecture. Not while a graph is captured: run the work once before.
  loaded_module(Cuda device, const void* image) : device_(device) {
    detail::refuse_in_capture("loading a kernel");
    const device_scope scope(device);
    const driver_result result = driver().module_load_data(&handle_, image);
    if (result == driver_result::no_binary_for_gpu || result == driver_result::invalid_image ||
        result == driver_result::unsupported_ptx_version) {
      const device_properties& here = properties(device);
      throw bad_image(message("loading a kernel: ", describe(result), "; the device is ", here.name, " (sm_",
                              here.architecture, ") and the driver runs CUDA ", driver().version / 1000, '.',
                              driver().version % 1000 / 10, "; compile for these"));
    }
    check(result, "loading a kernel");
  }
  loaded_module(loaded_module&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  loaded_module& operator=(loaded_module&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~loaded_module() {
    if (handle_ != nullptr) detail::with_context(device_, [this] { driver().module_unload(handle_); });
  }

  /// A kernel by its name. Throws bad_image if there is none of this name.
  device_function function(const std::string& name) const {
    const device_scope scope(device_);
    function_handle found = nullptr;
    const driver_result result = driver().module_get_function(&found, handle_, name.c_str());
    if (result == driver_result::not_found) {
      throw bad_image(message("kernel ", name, ": the module has none of this name; is it extern \"C\"?"));
    }
    check(result, "cuModuleGetFunction");
    return device_function(device_, found, detail::kept_name(name));
  }

 private:
  Cuda device_;
  module_handle handle_ = nullptr;
};

/// For finding faults: each launch waits for its kernel, so that an error shows where it was made. Also KILN_SYNC=1.
void set_launch_waits(bool on);

/// Whether kernels of kiln's own may be launched while the kernel before them still runs, for whose end they wait
/// themselves (programmatic dependent launch: compute capability 9.0 and a driver of CUDA 12.3 or newer). On at first,
/// unless KILN_PDL=0.
void set_dependent_launch(bool on);
bool dependent_launch();

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/driver_module_impl.hpp>
#endif
