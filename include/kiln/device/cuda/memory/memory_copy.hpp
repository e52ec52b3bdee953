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
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_pinned.hpp>

namespace kiln::cuda {

namespace detail {

device_pointer address(const void* place);

// What kind of memory an address is in, as far as the driver knows; ordinary host memory is unknown to it.
bool is_device_memory(const void* place);

// Whether the driver knows an address as pinned memory of the host, whoever pinned it.
bool is_pinned_memory(const void* place);

// The driver calls a host pointer just an "invalid argument"; say which one it is. Costs nothing unless it failed.
void check_copy(driver_result result, std::string_view operation, const void* to, bool to_device, const void* from,
                bool from_device, std::size_t bytes);

}  // namespace detail

/// Copies from the host. Not while a graph is captured (device_error). Pinned memory is read when the stream comes to
/// it: it must live and stay as it is until then (record_pinned_use). Ordinary memory is read before the call returns.
void copy_to_device(void* to, const void* from, std::size_t bytes, const stream& where);

/// Copies to the host. Not while a graph is captured (device_error). Pinned memory is written when the stream comes to
/// it. Ordinary memory is written before the call returns, so the host waits.
void copy_to_host(void* to, const void* from, std::size_t bytes, const stream& where);

/// Copies within a device, in the order of one of its streams. The two places must not overlap.
void copy_on_device(void* to, const void* from, std::size_t bytes, const stream& where);

/// Copies between devices: after all work so far of the source's stream, in the order of the target's. Later work of
/// the source's stream waits for the copy, so that it may overwrite what was copied.
void copy_between_devices(void* to, const stream& to_stream, const void* from, const stream& from_stream,
                          std::size_t bytes);

/// Sets each byte.
void fill_bytes(void* to, unsigned char byte, std::size_t bytes, const stream& where);

/// Copies to the host, after all work so far of the stream, and waits, whatever memory `to` is in. Throws device_error
/// while a graph is captured, when there are no values yet.
void read_bytes(void* to, const void* from, std::size_t bytes, const stream& where);

/// One value of device memory: see read_bytes.
template <class T>
T read_value(const void* place, const stream& where) {
  static_assert(std::is_trivially_copyable_v<T>, "kiln: only plain values can be read from a device");
  detail::refuse_in_capture("read_value");
  T value{};
  read_bytes(&value, place, sizeof(T), where);
  return value;
}

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/memory/memory_copy_impl.hpp>
#endif
