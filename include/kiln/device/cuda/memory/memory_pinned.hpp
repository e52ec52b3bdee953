// SPDX-License-Identifier: BSL-1.0
// Pinned memory of the host: copies between it and a device run while the host goes on. Pinning costs milliseconds, so
// freed blocks are kept; one that a stream may still read or write is handed out again only when that stream is past.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/stream.hpp>

namespace kiln::cuda {

/// What pinned_memory_stats() reports, in bytes of whole blocks.
struct pinned_statistics {
  std::size_t in_use = 0;           ///< handed out, or freed while a copy is under way
  std::size_t cached = 0;           ///< kept for reuse
  std::size_t driver_requests = 0;  ///< blocks that had to be pinned
};

namespace detail {

struct pinned_block {
  void* start = nullptr;
  std::size_t size = 0;
  Cuda device;                // in whose context it was pinned
  std::vector<stream> users;  // whose copies name it
  std::vector<event> marks;   // once it is freed
};

struct pinned_memory {
  device_lock mutex;
  std::map<std::size_t, std::vector<pinned_block*>> free;  // by size
  std::vector<pinned_block*> waiting;
  pinned_statistics counts;

  static pinned_memory& instance() {
    static pinned_memory& memory = *new pinned_memory;
    return memory;
  }

  pinned_block* allocate(std::size_t bytes, Cuda device) {
    const std::lock_guard lock(mutex);
    collect();
    const std::size_t size = std::bit_ceil(std::max(bytes, std::size_t{4096}));
    auto& kept = free[size];
    pinned_block* block = nullptr;
    if (!kept.empty()) {
      block = kept.back();
      kept.pop_back();
      counts.cached -= size;
    } else {
      block = request(size, bytes, device);
    }
    counts.in_use += size;
    return block;
  }

  void release(pinned_block* block) noexcept {
    if (lost_by_fork()) return;  // it is the parent's
    const std::lock_guard lock(mutex);
    try {
      waiting.push_back(block);
      collect();
    } catch (...) {  // a failed device: its copies may still be under way, so the block is not used again
    }
  }

  void empty() {
    const std::lock_guard lock(mutex);
    collect();
    free_kept();
  }

 private:
  void collect() {
    if (capturing) return;  // an event of a capture cannot be asked
    for (std::size_t i = waiting.size(); i-- > 0;) {
      pinned_block* const block = waiting[i];
      while (!block->users.empty()) {
        event mark(block->users.back().device());
        mark.record(block->users.back());
        block->marks.push_back(std::move(mark));
        block->users.pop_back();
      }
      if (!std::all_of(block->marks.begin(), block->marks.end(), [](const event& m) { return m.finished(); })) continue;
      block->marks.clear();
      counts.in_use -= block->size;
      counts.cached += block->size;
      free[block->size].push_back(block);
      std::swap(waiting[i], waiting.back());
      waiting.pop_back();
    }
  }

  void free_kept() {
    for (auto& [size, blocks] : free) {
      for (pinned_block* block : blocks) {
        with_context(block->device, [&] { driver().host_memory_free(block->start); });
        counts.cached -= size;
        delete block;
      }
      blocks.clear();
    }
  }

  pinned_block* request(std::size_t size, std::size_t bytes, Cuda device) {
    refuse_in_capture("pinned memory");
    const device_scope scope(device);
    void* start = nullptr;
    driver_result result = driver().host_memory_allocate(&start, size, host_memory_portable);
    if (result == driver_result::out_of_memory) {
      free_kept();
      result = driver().host_memory_allocate(&start, size, host_memory_portable);
    }
    if (result == driver_result::out_of_memory) {
      throw memory_error(message("pinned memory: the system pins no ", bytes, " bytes more (", counts.in_use,
                                 " are in use); free some or copy in parts"));
    }
    check(result, "cuMemHostAlloc");
    ++counts.driver_requests;
    auto* block = new pinned_block;
    block->start = start;
    block->size = size;
    block->device = device;
    return block;
  }
};

void release_pinned(storage* memory) noexcept;

}  // namespace detail

/// Waits for the copies that name pinned memory (record_pinned_use): the host may write there then. Returns at once for
/// other memory. Throws device_error while a graph is captured.
void wait_for_pinned_copies(const storage& memory);

/// Uninitialised pinned memory of the host, for copies with any device. Expressions do not take it for other values.
/// Throws memory_error if the system pins no more.
ref<storage> new_pinned_storage(std::size_t bytes, Cuda device = {});

/// True for memory of new_pinned_storage().
bool is_pinned(const storage& memory);

/// Says that a copy in this stream names the pinned memory, so that it is not handed out again before the copy is done.
void record_pinned_use(const storage& memory, const stream& user);

/// Numbers of the moment.
pinned_statistics pinned_memory_stats();

/// Unpins all memory that is kept for reuse.
void empty_pinned_cache();

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/memory/memory_pinned_impl.hpp>
#endif
