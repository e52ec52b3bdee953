// SPDX-License-Identifier: BSL-1.0
// The device Cpu: its tag, and memory for tensors on it.
#pragma once

#include <cstddef>
#include <new>
#include <ostream>

#include <kiln/core/storage.hpp>
#include <kiln/device/cpu/memory/memory.hpp>

namespace kiln {

/// The processor that runs the program.
struct Cpu {
  static constexpr const char* name = "cpu";
  friend constexpr bool operator==(Cpu, Cpu) = default;
  friend std::ostream& operator<<(std::ostream& out, Cpu) { return out << name; }
};

namespace cpu {

namespace process {
inline constexpr std::size_t storage_header = 64;  // keeps the data on a cache line of its own
static_assert(sizeof(storage) <= storage_header);

// From here on the data have a block of their own: sizes are mostly powers of two, and with something before them would
// take the next larger class of blocks, a quarter more.
inline constexpr std::size_t data_apart = std::size_t{64} << 10;

inline void release_storage(storage* block) noexcept {
  const std::size_t bytes = block->bytes, before = storage_header + block->reserved;
  void* const data = block->data;
  block->~storage();
  if (bytes >= data_apart) {
    deallocate(data, bytes);
    deallocate(block, before);
  } else {
    deallocate(block, bytes + before);
  }
}
}  // namespace process

/// Uninitialised memory of `bytes` bytes; `reserved`, a multiple of 64, is free for use behind the storage.
/// Throws memory_error if the system has none left.
inline ref<storage> new_storage(std::size_t bytes, std::size_t reserved = 0) {
  const std::size_t before = process::storage_header + reserved;
  const bool apart = bytes >= process::data_apart;
  char* const memory = static_cast<char*>(allocate(apart ? before : before + bytes));
  void* data = memory + before;
  if (apart) {
    try {
      data = allocate(bytes);
    } catch (...) {
      deallocate(memory, before);
      throw;
    }
  }
  storage* const block = new (memory) storage;
  block->data = data;
  block->bytes = bytes;
  block->reserved = reserved;
  block->release = &process::release_storage;
  return ref<storage>::adopt(block);
}

/// Gives the elements back, if they have a block of their own, while the room stays: of a block that nobody else reads.
inline void release_data(storage& block) noexcept {
  if (block.release != &process::release_storage || block.bytes < process::data_apart) return;
  deallocate(block.data, block.bytes);
  block.data = nullptr;
  block.bytes = 0;
}

/// The room that was asked for.
inline void* reserved_of(storage& block) {
  return reinterpret_cast<char*>(&block) + process::storage_header;
}

}  // namespace cpu
}  // namespace kiln
