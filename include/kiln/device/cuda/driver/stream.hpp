// SPDX-License-Identifier: BSL-1.0
// Streams: the order in which a GPU does its work. Each thread has a current stream per device; nothing here waits
// unless it says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/deferred.hpp>
#include <kiln/device/cuda/driver/forks.hpp>

namespace kiln::cuda {

/// What all handles of one stream share.
struct stream_state {
  std::atomic<std::uint32_t> references{1};
  Cuda device;
  stream_handle handle = nullptr;
  bool foreign = false;  // somebody else ends it
  // Where kernels in this stream count the blocks that have ended (run/finished.hpp); null until one does.
  std::atomic<std::uint32_t*> finished{nullptr};
};

void destroy(stream_state* state) noexcept;

namespace detail {
// Set while this thread captures a graph: what would wait or ask the driver for memory must not happen then.
inline constinit thread_local bool capturing = false;

/// Throws device_error if this thread captures a graph.
void refuse_in_capture(std::string_view operation);
}  // namespace detail

/// A handle of a stream; copies share it.
class stream {
 public:
  stream() = default;
  /// A new stream on a device. It keeps order with CUDA's default stream, so that other libraries' work fits in.
  static stream create(Cuda device) {
    const device_scope scope(device);
    stream made(new stream_state{{1}, device, nullptr, true});
    check(driver().stream_create(&made.state_->handle, 0, 0), "cuStreamCreate");
    made.state_->foreign = false;
    return made;
  }
  /// A stream that another library made and will end, after this handle and all memory used on it are gone.
  static stream of(Cuda device, stream_handle handle) {
    check_device(device);
    return stream(new stream_state{{1}, device, handle, true});
  }

  Cuda device() const { return state()->device; }
  /// What the driver and other libraries know it by. All work of this thread so far is queued then.
  stream_handle handle() const {
    detail::run_deferred();
    return state()->handle;
  }
  const ref<stream_state>& state() const {
    if (!state_) throw device_error("stream: this handle has no stream; use current_stream() or stream::create()");
    return state_;
  }
  explicit operator bool() const { return static_cast<bool>(state_); }
  friend bool operator==(const stream& a, const stream& b) { return a.state_ == b.state_; }

  /// True if all work so far is done. Does not wait. Throws device_error if some of it failed.
  bool finished() const {
    detail::refuse_in_capture("stream.finished");
    const device_scope scope(device());
    const driver_result result = driver().stream_query(handle());
    if (result == driver_result::not_ready) return false;
    check(result, "stream.finished");
    return true;
  }
  /// Waits for all work so far. Throws device_error if some of it failed.
  void synchronize() const {
    detail::refuse_in_capture("stream.synchronize");
    const device_scope scope(device());
    check(driver().stream_synchronize(handle()), "stream.synchronize");
  }

 private:
  explicit stream(stream_state* made) : state_(ref<stream_state>::adopt(made)) {}
  ref<stream_state> state_;
};

namespace detail {

// The stream that a thread uses unless it says otherwise: one per device for the whole process.
inline const stream& default_stream(Cuda device) {
  check_device(device);
  struct made {
    std::once_flag once;
    stream own;
  };
  static std::vector<made>& all = *new std::vector<made>(static_cast<std::size_t>(cuda_device_count()));
  made& entry = all[static_cast<std::size_t>(device.index)];
  std::call_once(entry.once, [&] { entry.own = stream::create(device); });
  return entry.own;
}

// Innermost scopes last; a thread has few.
std::vector<stream>& chosen_streams();

}  // namespace detail

/// The stream that this thread's work on a device goes to: that of the innermost stream_scope, else one that all
/// threads share. Throws device_error if there is no such device.
inline const stream& current_stream(Cuda device) {
  const auto& chosen = detail::chosen_streams();
  for (auto it = chosen.rbegin(); it != chosen.rend(); ++it) {
    if (it->device() == device) return *it;
  }
  return detail::default_stream(device);
}

/// Makes a stream the current one of its device, for this thread, until the end of the scope.
class stream_scope {
 public:
  explicit stream_scope(const stream& chosen) { detail::chosen_streams().push_back(chosen); }
  stream_scope(const stream_scope&) = delete;
  stream_scope& operator=(const stream_scope&) = delete;
  ~stream_scope() { detail::chosen_streams().pop_back(); }
};

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/stream_impl.hpp>
#endif
