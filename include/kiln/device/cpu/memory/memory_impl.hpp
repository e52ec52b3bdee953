// SPDX-License-Identifier: BSL-1.0
// The second part of memory.hpp: what it declares, and the caches of threads, through which small blocks go without a
// lock. Blocks may be freed on any thread, and after static destruction has begun.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cpu/memory/memory_pool.hpp>
#include <kiln/device/cpu/memory/memory_statistics.hpp>

namespace kiln::cpu {

namespace process {

// How many blocks of one class a thread keeps: sixteen, fewer where that would be more than 256 KiB. A table, as it is
// asked for with every block that is freed.
inline constexpr auto thread_capacities = [] {
  std::array<std::uint8_t, small_classes> capacities{};
  for (std::size_t i = 0; i < small_classes; ++i)
    capacities[i] =
        static_cast<std::uint8_t>(std::clamp(4 * largest_small / class_size(i), std::size_t{4}, std::size_t{16}));
  return capacities;
}();

KILN_INLINE constinit std::atomic<memory_pool*> shared_pool{nullptr};
KILN_INLINE constinit std::atomic<bool> pool_knows_forks{false};

// Never destroyed: static tensors may be freed after every other static object is gone. (Not a static of a function,
// which the child of a fork could find being made by another thread for ever.)
KILN_INLINE memory_pool& make_pool();
inline memory_pool& pool() {
  memory_pool* const made = shared_pool.load(std::memory_order_acquire);
  return made != nullptr ? *made : make_pool();
}

// Pointer and flag are trivial, so they can be read at any time of a thread's life.
struct thread_state {
  thread_cache* cache = nullptr;
  bool ended = false;
};
KILN_INLINE constinit thread_local thread_state this_thread;

struct alignas(64) thread_cache {
  // A block is written before the count that includes it: the child of a fork takes over the caches of other threads
  // as it finds them.
  struct stack {
    std::atomic<std::uint32_t> count{0};
    std::array<void*, 16> blocks;

    std::uint32_t size() const { return count.load(std::memory_order_relaxed); }
    void push(void* block) {
      blocks[size()] = block;
      count.store(size() + 1, std::memory_order_release);
    }
    void* pop() {
      const std::uint32_t last = size() - 1;
      count.store(last, std::memory_order_relaxed);
      return blocks[last];
    }
  };
  std::array<stack, small_classes> stacks;
  memory_counts counts;
  thread_cache* next = nullptr;  // in the pool's list

  // With the lock held: leaves the `remain` blocks freed last, which are the likeliest to be in cache.
  [[gnu::cold, gnu::noinline]] void give_back(memory_pool& to, std::size_t index, std::uint32_t remain) noexcept {
    stack& from = stacks[index];
    const std::uint32_t count = from.size();
    if (count <= remain) return;
    const std::uint32_t given = count - remain;
    for (std::uint32_t i = 0; i < given; ++i) to.keep(index, from.blocks[i]);
    std::copy(from.blocks.begin() + given, from.blocks.begin() + count, from.blocks.begin());
    from.count.store(remain, std::memory_order_relaxed);
  }
  void give_back_all(memory_pool& to) noexcept {
    for (std::size_t index = 0; index < small_classes; ++index) give_back(to, index, 0);
  }

  [[gnu::cold, gnu::noinline]] void make_space(std::size_t index) noexcept {
    memory_pool& shared = pool();
    const locked hold(shared.lock);
    give_back(shared, index, thread_capacities[index] / 2u);
  }
  [[gnu::cold, gnu::noinline]] void* refill(std::size_t index, std::size_t bytes) {
    memory_pool& shared = pool();
    const locked hold(shared.lock);
    void* const block = shared.take(index);
    if (block == nullptr) return shared.request(index, bytes);
    stack& own = stacks[index];
    while (own.size() < thread_capacities[index] / 2u && shared.has(index)) own.push(shared.take(index));
    return block;
  }
};

// Across a fork the lock is held, so that the child finds the pool in order. It takes over what other threads kept.
[[gnu::cold]] KILN_INLINE void before_fork() {
  pool().lock.lock();
}
[[gnu::cold]] KILN_INLINE void after_fork_in_parent() {
  pool().lock.unlock();
}
[[gnu::cold]] KILN_INLINE void after_fork_in_child() {
  memory_pool& shared = pool();
  thread_cache* const own = this_thread.cache;
  for (thread_cache* next = shared.threads; next != nullptr;) {
    thread_cache* const cache = std::exchange(next, next->next);
    if (cache == own) continue;
    cache->give_back_all(shared);
    shared.counts.add(cache->counts);
    delete cache;
  }
  shared.threads = own;
  if (own != nullptr) own->next = nullptr;
  shared.lock.unlock();
}

[[gnu::cold]] KILN_INLINE memory_pool& make_pool() {
  memory_pool* const fresh = new (std::nothrow) memory_pool;
  if (fresh == nullptr) throw memory_error("allocate: the system has no memory; use smaller tensors or free some");
  memory_pool* expected = nullptr;
  if (!shared_pool.compare_exchange_strong(expected, fresh)) {
    delete fresh;
    return *expected;
  }
  if (!pool_knows_forks.exchange(true)) ::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  return *fresh;
}

// Ends the cache of its thread.
struct thread_end {
  [[gnu::cold]] ~thread_end() {
    thread_cache* const cache = this_thread.cache;
    this_thread = {nullptr, true};
    if (cache == nullptr) return;
    memory_pool& shared = pool();
    {
      const locked hold(shared.lock);
      cache->give_back_all(shared);
      shared.counts.add(cache->counts);
      thread_cache** at = &shared.threads;
      while (*at != cache) at = &(*at)->next;
      *at = cache->next;
    }
    delete cache;
  }
};

[[gnu::cold]] KILN_INLINE thread_cache* start_thread_cache() noexcept {
  if (this_thread.ended) return nullptr;
  static thread_local const thread_end end;
  static_cast<void>(&end);
  thread_cache* const cache = new (std::nothrow) thread_cache;
  if (cache == nullptr) return nullptr;
  try {
    memory_pool& shared = pool();
    const locked hold(shared.lock);
    cache->next = std::exchange(shared.threads, cache);
  } catch (...) {  // no memory: without a cache, then
    delete cache;
    return nullptr;
  }
  return this_thread.cache = cache;
}
inline thread_cache* find_thread_cache() noexcept {
  return this_thread.cache != nullptr ? this_thread.cache : start_thread_cache();
}

// The level with the lock, for large blocks and for threads that are past their end.
KILN_INLINE void* shared_allocate(std::size_t index, std::size_t bytes, thread_cache* cache) {
  memory_pool& shared = pool();
  const locked hold(shared.lock);
  void* block = shared.take(index);
  if (block == nullptr) block = shared.request(index, bytes);
  (cache != nullptr ? cache->counts : shared.counts).allocated(class_size(index));
  return block;
}
KILN_INLINE void shared_deallocate(void* block, std::size_t index, thread_cache* cache) noexcept {
  memory_pool& shared = pool();
  const locked hold(shared.lock);
  shared.keep(index, block);
  (cache != nullptr ? cache->counts : shared.counts).freed(class_size(index));
}

KILN_INLINE constinit std::atomic<int> fill_byte{-1};

// Handed-out blocks end where the caller's bytes end, kept ones are all poison: a stray access is reported.
inline void mark_handed_out(void* block, std::size_t bytes, std::size_t size) {
  if constexpr (address_sanitizer) {
    __asan_poison_memory_region(block, size);
    __asan_unpoison_memory_region(block, bytes);
  }
  if (const int byte = fill_byte.load(std::memory_order_relaxed); byte >= 0) std::memset(block, byte, bytes);
}

}  // namespace process

KILN_INLINE void* allocate(std::size_t bytes) {
  if (bytes > process::largest_block) {
    throw memory_error(message("allocate: ", bytes, " bytes are more than any machine has; use smaller tensors"));
  }
  const std::size_t index = process::class_of(bytes), size = process::class_size(index);
  process::thread_cache* const cache = process::find_thread_cache();
  void* block = nullptr;
  if (index >= process::small_classes || cache == nullptr) {
    block = process::shared_allocate(index, bytes, cache);
  } else {
    auto& own = cache->stacks[index];
    block = own.size() > 0 ? own.pop() : cache->refill(index, bytes);
    cache->counts.allocated(size);
  }
  process::mark_handed_out(block, bytes, size);
  return block;
}

KILN_INLINE void deallocate(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  const std::size_t index = process::class_of(bytes), size = process::class_size(index);
  process::thread_cache* const cache = process::find_thread_cache();
  if constexpr (process::address_sanitizer) __asan_poison_memory_region(block, size);
  if (index >= process::small_classes || cache == nullptr) return process::shared_deallocate(block, index, cache);
  auto& own = cache->stacks[index];
  if (own.size() >= process::thread_capacities[index]) cache->make_space(index);
  own.push(block);
  cache->counts.freed(size);
}

KILN_INLINE memory_statistics memory_stats() {
  auto& shared = process::pool();
  const process::locked hold(shared.lock);
  std::int64_t in_use = shared.counts.in_use.load();
  std::uint64_t allocations = shared.counts.allocations.load();
  for (const process::thread_cache* cache = shared.threads; cache != nullptr; cache = cache->next) {
    in_use += cache->counts.in_use.load();
    allocations += cache->counts.allocations.load();
  }
  memory_statistics result;
  // Other threads go on counting meanwhile, so the sum can be off by a block for a moment.
  result.in_use = std::min(static_cast<std::size_t>(std::max<std::int64_t>(in_use, 0)), shared.mapped);
  result.cached = shared.mapped - result.in_use;
  result.peak = shared.peak;
  result.limit = shared.limit();
  result.allocations = allocations;
  result.system_requests = shared.system_requests;
  return result;
}

KILN_INLINE void empty_cache() {
  auto* const cache = process::find_thread_cache();
  auto& shared = process::pool();
  {
    const process::locked hold(shared.lock);
    if (cache != nullptr) cache->give_back_all(shared);
    shared.empty();
  }
#if defined(__GLIBC__)
  ::malloc_trim(0);  // small blocks went back to the C library, which would keep them
#endif
}

KILN_INLINE void set_cache_limit(std::size_t bytes) {
  auto& shared = process::pool();
  const process::locked hold(shared.lock);
  shared.set_limit(bytes);
}

KILN_INLINE void set_memory_fill(int byte) {
  if (byte > 255) throw value_error(message("set_memory_fill: ", byte, " is no byte; use 0 to 255, or -1 for none"));
  process::fill_byte.store(byte, std::memory_order_relaxed);
}

}  // namespace kiln::cpu
