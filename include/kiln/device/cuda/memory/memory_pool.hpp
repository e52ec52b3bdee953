// SPDX-License-Identifier: BSL-1.0
// Blocks of device memory, cut from large segments of the driver and kept for reuse: the driver's own calls cost
// microseconds and cuMemFree waits for the device. A freed block is free at once for its own stream, whose order makes
// that safe; other streams that used it are waited for by events.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <kiln/core/storage.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/driver/stream.hpp>

namespace kiln::cuda {

/// What memory_stats() reports of one device; all sizes are in bytes.
struct memory_statistics {
  std::size_t in_use = 0;             ///< handed out and not yet freed, whole blocks
  std::size_t cached = 0;             ///< taken from the driver and free
  std::size_t peak = 0;               ///< highest in_use so far
  std::uint64_t allocations = 0;      ///< blocks handed out
  std::uint64_t driver_requests = 0;  ///< segments asked of the driver
  std::uint64_t retries = 0;          ///< times that the driver had no memory and the cache was emptied
};

namespace detail {

struct memory_pool;

struct memory_block {
  device_pointer start = 0;
  std::size_t size = 0;
  ref<stream_state> home;                             // whose order its reuse follows
  memory_block *previous = nullptr, *next = nullptr;  // neighbours in the same segment
  bool free = false;
  bool large = false;
  bool direct = false;        // from the driver alone, and back to it
  ref<memory_pool> pool;      // only while it is in use: keeps a graph's pool
  std::vector<stream> users;  // other streams that used it
};

inline constexpr std::size_t block_step = 512;                        // alignment for every vector load
inline constexpr std::size_t largest_small = std::size_t{1} << 20;    // smaller ones share segments of 2 MiB,
inline constexpr std::size_t small_segment = std::size_t{2} << 20;    // the page size of the device
inline constexpr std::size_t middle_segment = std::size_t{20} << 20;  // for those up to 10 MiB
inline constexpr std::size_t largest_middle = std::size_t{10} << 20;

constexpr std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}
constexpr std::size_t segment_size(std::size_t size) {
  return size <= largest_small    ? small_segment
         : size <= largest_middle ? middle_segment
                                  : round_up(size, small_segment);
}

struct by_size {
  bool operator()(const memory_block* a, const memory_block* b) const {
    return a->size != b->size ? a->size < b->size : a->start < b->start;
  }
};
using free_blocks = std::set<memory_block*, by_size>;

/// The segments of one purpose: of a device in general, or of one graph. Used with the lock of device_memory held.
struct memory_pool {
  std::atomic<std::uint32_t> references{1};
  Cuda device;
  void (*end)(memory_pool*) noexcept = nullptr;  // gives the segments back to the driver
  std::map<stream_state*, std::array<free_blocks, 2>> free;
  std::size_t cached = 0;

  /// A free block of at least this size for this stream, cut to size; null if there is none.
  memory_block* take(std::size_t size, const stream& where) {
    const bool large = size > largest_small;
    const auto found = free.find(where.state().get());
    if (found == free.end()) return nullptr;
    free_blocks& candidates = found->second[large];
    memory_block key;
    key.size = size;
    const auto best = candidates.lower_bound(&key);
    if (best == candidates.end()) return nullptr;
    memory_block* const block = *best;
    take_out(block);
    return cut(block, size);
  }

  /// Adds a segment of the driver as one block in use, cut to size.
  memory_block* add(device_pointer start, std::size_t segment, std::size_t size, const stream& where, bool direct) {
    auto* block = new memory_block;
    block->start = start;
    block->size = segment;
    block->home = where.state();
    block->large = size > largest_small;
    block->direct = direct;
    return cut(block, size);
  }

  /// Makes a block free, as one with its free neighbours.
  void give_back(memory_block* block) {
    block->users.clear();
    if (block->next != nullptr && block->next->free) {
      take_out(block->next);
      absorb_next(block);
    }
    if (block->previous != nullptr && block->previous->free) {
      block = block->previous;
      take_out(block);
      absorb_next(block);
    }
    put_in(block);
  }

  /// Takes all segments without a block in use out of the pool; the caller frees them.
  std::vector<std::pair<device_pointer, std::size_t>> take_free_segments() {
    std::vector<std::pair<device_pointer, std::size_t>> segments;
    std::vector<ref<stream_state>> streams;  // may end with their last block, which must not happen in the loops
    for (auto& [home, sets] : free) {
      for (free_blocks& blocks : sets) {
        std::erase_if(blocks, [&](memory_block* block) {
          if (block->previous != nullptr || block->next != nullptr) return false;
          segments.emplace_back(block->start, block->size);
          cached -= block->size;
          streams.push_back(std::move(block->home));
          delete block;
          return true;
        });
      }
    }
    std::erase_if(free, [](const auto& entry) { return entry.second[0].empty() && entry.second[1].empty(); });
    return segments;
  }

 private:
  // Keeps the rest of a block free if it is of use.
  memory_block* cut(memory_block* block, std::size_t size) {
    if (block->direct || block->size - size < (block->large ? largest_small : block_step)) return block;
    auto* rest = new memory_block;
    rest->start = block->start + size;
    rest->size = block->size - size;
    rest->home = block->home;
    rest->large = block->large;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next != nullptr) rest->next->previous = rest;
    block->next = rest;
    block->size = size;
    put_in(rest);
    return block;
  }

  void put_in(memory_block* block) {
    block->free = true;
    cached += block->size;
    free[block->home.get()][block->large].insert(block);
  }
  void take_out(memory_block* block) {
    block->free = false;
    cached -= block->size;
    free[block->home.get()][block->large].erase(block);
  }
  static void absorb_next(memory_block* block) {
    memory_block* const gone = block->next;
    block->size += gone->size;
    block->next = gone->next;
    if (block->next != nullptr) block->next->previous = block;
    delete gone;
  }
};

void destroy(memory_pool* pool) noexcept;

}  // namespace detail
}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/memory/memory_pool_impl.hpp>
#endif
