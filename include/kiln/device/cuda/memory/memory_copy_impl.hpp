// SPDX-License-Identifier: BSL-1.0
// The definitions of memory_copy.hpp.
#pragma once

#include <kiln/device/cuda/memory/memory_copy.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE device_pointer address(const void* place) {
  return reinterpret_cast<device_pointer>(place);
}

KILN_INLINE bool is_device_memory(const void* place) {
  memory_type kind = memory_type::host;
  return driver().pointer_get_attribute(&kind, pointer_attribute::memory_type, address(place)) ==
             driver_result::success &&
         kind == memory_type::device;
}

KILN_INLINE bool is_pinned_memory(const void* place) {
  memory_type kind = memory_type::device;
  return driver().pointer_get_attribute(&kind, pointer_attribute::memory_type, address(place)) ==
             driver_result::success &&
         kind == memory_type::host;
}

KILN_INLINE void check_copy(driver_result result, std::string_view operation, const void* to, bool to_device,
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

// A graph would copy from or to the same place of the host at each replay, whatever is there by then.
KILN_INLINE void copy_to_device(void* to, const void* from, std::size_t bytes, const stream& where) {
  if (bytes == 0) return;
  detail::refuse_in_capture("copy_to_device");
  const device_scope scope(where.device());
  detail::check_copy(driver().copy_to_device(detail::address(to), from, bytes, where.handle()), "copy_to_device", to,
                     true, from, false, bytes);
}

KILN_INLINE void copy_to_host(void* to, const void* from, std::size_t bytes, const stream& where) {
  if (bytes == 0) return;
  detail::refuse_in_capture("copy_to_host");
  const device_scope scope(where.device());
  detail::check_copy(driver().copy_to_host(to, detail::address(from), bytes, where.handle()), "copy_to_host", to, false,
                     from, true, bytes);
}

KILN_INLINE void read_bytes(void* to, const void* from, std::size_t bytes, const stream& where) {
  copy_to_host(to, from, bytes, where);
  where.synchronize();
}

KILN_INLINE void copy_on_device(void* to, const void* from, std::size_t bytes, const stream& where) {
  if (bytes == 0) return;
  const device_scope scope(where.device());
  detail::check_copy(driver().copy_on_device(detail::address(to), detail::address(from), bytes, where.handle()),
                     "copy_on_device", to, true, from, true, bytes);
}

KILN_INLINE void copy_between_devices(void* to, const stream& to_stream, const void* from, const stream& from_stream,
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

KILN_INLINE void fill_bytes(void* to, unsigned char byte, std::size_t bytes, const stream& where) {
  if (bytes == 0) return;
  const device_scope scope(where.device());
  detail::check_copy(driver().fill_bytes(detail::address(to), byte, bytes, where.handle()), "fill_bytes", to, true,
                     nullptr, false, bytes);
}

}  // namespace kiln::cuda
