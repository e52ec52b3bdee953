// SPDX-License-Identifier: BSL-1.0
// Events: marks in a stream that other streams, or the host, wait for.
#pragma once

#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/stream.hpp>

namespace kiln::cuda {

/// A mark in a stream's work. Moves, does not copy.
class event {
 public:
  /// With `timing` it can be given to milliseconds(); without it is cheaper.
  explicit event(Cuda device, bool timing = false) : device_(device) {
    const device_scope scope(device);
    check(driver().event_create(&handle_, timing ? 0 : event_disable_timing), "cuEventCreate");
  }
  event(event&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  event& operator=(event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~event() {
    if (handle_ != nullptr) detail::with_context(device_, [this] { driver().event_destroy(handle_); });
  }

  /// Marks the end of all work so far of a stream of the same device.
  void record(const stream& where) {
    if (where.device() != device_) {
      throw device_error(message("event.record: an event of device ", device_.index, " on a stream of device ",
                                 where.device().index, "; make it on the stream's device"));
    }
    const device_scope scope(device_);
    check(driver().event_record(handle_, where.handle()), "event.record");
  }
  /// Lets the later work of a stream, of any device, wait for the mark. The host does not wait.
  void hold_back(const stream& later) const {
    const device_scope scope(later.device());
    check(driver().stream_wait_event(later.handle(), handle_, 0), "event.hold_back");
  }
  /// True if the mark is reached, or was never set. Does not wait.
  bool finished() const {
    detail::refuse_in_capture("event.finished");
    const device_scope scope(device_);
    const driver_result result = driver().event_query(handle_);
    if (result == driver_result::not_ready) return false;
    check(result, "event.finished");
    return true;
  }
  /// Waits on the host for the mark.
  void synchronize() const {
    detail::refuse_in_capture("event.synchronize");
    const device_scope scope(device_);
    check(driver().event_synchronize(handle_), "event.synchronize");
  }
  event_handle handle() const { return handle_; }
  Cuda device() const { return device_; }

 private:
  Cuda device_;
  event_handle handle_ = nullptr;
};

/// The time between two marks that are reached, both made with timing, to about half a microsecond.
double milliseconds(const event& from, const event& to);

/// Lets the later work of one stream wait for all work so far of another.
void hold_back(const stream& later, const stream& earlier);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/event_impl.hpp>
#endif
