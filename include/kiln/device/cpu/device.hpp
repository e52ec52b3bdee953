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
  friend constexpr bool operator==(Cpu, Cpu) = default;
};

namespace cpu {

namespace process {
inline constexpr std::size_t storage_header = 64;  // keeps the data on a cache line of its own
static_assert(sizeof(storage) <= storage_header);

inline void release_storage(storage* block) noexcept {
  const std::size_t bytes = block->bytes + block->room;
  block->~storage();
  deallocate(block, bytes + storage_header);
}
}  // namespace process

/// Uninitialised memory of `bytes` bytes; `room`, a multiple of 64, is free for use between the storage and them.
/// Throws memory_error if the system has none left.
inline ref<storage> new_storage(std::size_t bytes, std::size_t room = 0) {
  const std::size_t before = process::storage_header + room;
  // More than that short of everything would wrap around to almost nothing.
  char* memory = static_cast<char*>(allocate(bytes + std::min(before, ~bytes)));
  storage* block = new (memory) storage;
  block->data = memory + before;
  block->bytes = bytes;
  block->room = room;
  block->release = &process::release_storage;
  return ref<storage>::adopt(block);
}

/// The room that was asked for.
inline void* room_of(storage& block) {
  return reinterpret_cast<char*>(&block) + process::storage_header;
}

}  // namespace cpu
}  // namespace kiln
