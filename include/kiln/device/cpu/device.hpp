// SPDX-License-Identifier: BSL-1.0
// The device Cpu: its tag, and memory for tensors on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

#include <kiln/core/storage.hpp>
#include <kiln/device/cpu/memory.hpp>

namespace kiln {

/// The processor that runs the program.
struct Cpu {
  static constexpr const char* name = "cpu";
};

namespace cpu {

namespace detail {
inline constexpr std::size_t storage_header = 64;  // keeps the data on a cache line of its own
static_assert(sizeof(storage) <= storage_header);

inline void release_storage(storage* block) noexcept {
  const std::size_t bytes = block->bytes;
  block->~storage();
  deallocate(block, bytes + storage_header);
}
}  // namespace detail

/// Uninitialised memory of `bytes` bytes. Throws memory_error if the system has none left.
inline ref<storage> new_storage(std::size_t bytes) {
  // More than the header short of everything would wrap around to almost nothing.
  void* memory = allocate(bytes + std::min(detail::storage_header, ~bytes));
  storage* block = new (memory) storage;
  block->data = static_cast<char*>(memory) + detail::storage_header;
  block->bytes = bytes;
  block->release = &detail::release_storage;
  return ref<storage>::adopt(block);
}

}  // namespace cpu
}  // namespace kiln
