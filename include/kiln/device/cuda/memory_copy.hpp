// SPDX-License-Identifier: BSL-1.0
// Copies between host and devices. They are queued in a stream; the host waits only where it says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <kiln/core/error.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/device/cuda/context.hpp>
#include <kiln/device/cuda/event.hpp>
#include <kiln/device/cuda/memory.hpp>
#include <kiln/device/cuda/memory_pinned.hpp>
#include <kiln/device/cuda/stream.hpp>

namespace kiln::cuda {

namespace detail {

inline device_pointer address(const void* place) {
  return reinterpret_cast<device_pointer>(place);
}

// What kind of memory an address is in, as far as the driver knows; ordinary host memory is unknown to it.
inline bool is_device_memory(const void* place) {
  memory_type kind = memory_type::host;
  return driver().pointer_get_attribute(&kind, pointer_attribute::memory_type, address(place)) ==
             driver_result::success &&
         kind == memory_type::device;
}

// The driver calls a host pointer just an "invalid argument"; say which one it is. Costs nothing unless it failed.
inline void check_copy(driver_result result, std::string_view operation, const void* to, bool to_device,
                       const void* from, bool from_device, std::size_t bytes) {
  if (result == driver_result::success) return;
  if (result == driver_result::invalid_value) {
    for (const auto& [place, wanted, role] :
         {std::tuple{to, to_device, "target"}, std::tuple{from, from_device, "source"}}) {
      if (place != nullptr && wanted && !is_device_memory(place)) {
        throw device_error(message(operation, ": the ", role, " ", place, " is not memory of a CUDA device; copy ",
                                   bytes, " bytes to one first, with x.to<Cuda>()"));
      }
    }
    throw device_error(message(operation, ": ", bytes, " bytes from ", from, " to ", to,
                               " reach outside the memory that holds them, or one of them was freed"));
  }
  check(result, operation);
}

}  // namespace detail

/// Copies from the host. Pinned memory is read when the stream comes to it: it must live and stay as it is until then
/// (record_pinned_use). Ordinary memory is read before the call returns.
inline void copy_to_device(void* to, const void* from, std::size_t bytes, const stream& where) {
  if (bytes == 0) return;
  const device_scope scope(where.device());
  detail::check_copy(driver().copy_to_device(detail::address(to), from, bytes, where.handle()), "copy_to_device", to,
                     true, from, false, bytes);
}

/// Copies to the host. Pinned memory is written when the stream comes to it. Ordinary memory is written before the call
/// returns, so the host waits.
inline void copy_to_host(void* to, const void* from, std::size_t bytes, const stream& where) {
  if (bytes == 0) return;
  const device_scope scope(where.device());
  detail::check_copy(driver().copy_to_host(to, detail::address(from), bytes, where.handle()), "copy_to_host", to, false,
                     from, true, bytes);
}

/// Copies within a device, in the order of one of its streams. The two places must not overlap.
inline void copy_on_device(void* to, const void* from, std::size_t bytes, const stream& where) {
  if (bytes == 0) return;
  const device_scope scope(where.device());
  detail::check_copy(driver().copy_on_device(detail::address(to), detail::address(from), bytes, where.handle()),
                     "copy_on_device", to, true, from, true, bytes);
}

/// Copies between devices: after all work so far of the source's stream, in the order of the target's. Later work of
/// the source's stream waits for the copy, so that it may overwrite what was copied.
inline void copy_between_devices(void* to, const stream& to_stream, const void* from, const stream& from_stream,
                                 std::size_t bytes) {
  if (bytes == 0) return;
  if (to_stream.device() == from_stream.device()) {
    hold_back(to_stream, from_stream);
    copy_on_device(to, from, bytes, to_stream);
    hold_back(from_stream, to_stream);
    return;
  }
  if (!detail::capturing) connect(from_stream.device(), to_stream.device());
  hold_back(to_stream, from_stream);
  {
    const device_scope scope(to_stream.device());
    detail::check_copy(driver().copy_to_peer(detail::address(to), context_of(to_stream.device()), detail::address(from),
                                             context_of(from_stream.device()), bytes, to_stream.handle()),
                       "copy_between_devices", to, true, from, true, bytes);
  }
  hold_back(from_stream, to_stream);
}

/// Sets each byte.
inline void fill_bytes(void* to, unsigned char byte, std::size_t bytes, const stream& where) {
  if (bytes == 0) return;
  const device_scope scope(where.device());
  detail::check_copy(driver().fill_bytes(detail::address(to), byte, bytes, where.handle()), "fill_bytes", to, true,
                     nullptr, false, bytes);
}

/// One value of device memory, after all work so far of the stream. The host waits. Throws device_error while a graph
/// is captured, when there is no value yet.
template <class T>
T read_value(const void* place, const stream& where) {
  static_assert(std::is_trivially_copyable_v<T>, "kiln: only plain values can be read from a device");
  detail::refuse_in_capture("read_value");
  T value{};
  copy_to_host(&value, place, sizeof(T), where);
  where.synchronize();
  return value;
}

}  // namespace kiln::cuda
