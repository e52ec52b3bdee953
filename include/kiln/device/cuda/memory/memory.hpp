// SPDX-License-Identifier: BSL-1.0
// Memory of the device Cuda: what tensors ask for, statistics, and what happens when there is none left.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/memory/memory_pool.hpp>

namespace kiln::cuda {

namespace detail {

inline constexpr std::size_t largest_allocation = std::size_t{1} << 46;

// Off, each block is one of the driver's, of exactly the size asked for: compute-sanitizer and the tests' emulator then
// see an access past its end.
std::atomic<bool>& caching_is_on();

// Blocks that wait until other streams are done with them. Their pool must live as long.
struct waiting_block {
  memory_block* block;
  ref<memory_pool> pool;
  std::vector<event> marks;
  bool marked = false;
};

void end_pool(memory_pool* pool) noexcept;

/// An empty pool of a device.
ref<memory_pool> new_pool(Cuda where);

// The pool that this thread's memory comes from in place of the general one: a graph's.
inline constinit thread_local memory_pool* chosen_pool = nullptr;

class pool_scope {
 public:
  explicit pool_scope(const ref<memory_pool>& pool) : before_(std::exchange(chosen_pool, pool.get())) {}
  pool_scope(const pool_scope&) = delete;
  pool_scope& operator=(const pool_scope&) = delete;
  ~pool_scope() { chosen_pool = before_; }

 private:
  memory_pool* before_;
};

memory_block* block_of(const storage& owned);

void release_storage(storage* block) noexcept;

}  // namespace detail

/// Uninitialised memory of `bytes` bytes on the stream's device, aligned to 512. It is used in the stream's order: work
/// of other streams needs record_use(). Throws memory_error with the numbers if the device has none left.
ref<storage> new_storage(std::size_t bytes, const stream& where);

/// The same on the current stream of a device.
ref<storage> new_storage(std::size_t bytes, Cuda device = {});

/// The device that memory of new_storage() is on.
Cuda device_of(const storage& memory);

/// Says that a stream other than the one it was made for uses memory of new_storage(): it is not handed out again
/// before that stream has done all its work up to the moment when the memory is freed.
void record_use(const storage& memory, const stream& user);

/// Numbers of the moment for one device.
memory_statistics memory_stats(Cuda device = {});

/// Gives all cached memory of a device back to the driver. Waits for the device.
void empty_cache(Cuda device = {});

/// Off, no memory is kept for reuse and each tensor gets a block of its own of exactly its size, for tools that look
/// for accesses past the end; slow, as each waits for the device. Also KILN_MEMORY_CACHE=0.
void set_memory_caching(bool on);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/memory/memory_impl.hpp>
#endif
