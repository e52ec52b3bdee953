// SPDX-License-Identifier: BSL-1.0
// Memory of the CPU device: a pool that keeps what it was given, since a fresh page costs far more than a kernel.
// Small blocks go through a cache of the calling thread without a lock, all others through one shared level that is
// bounded by set_cache_limit. Blocks may be freed on any thread, and after static destruction has begun.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include <kiln/core/error.hpp>

// Declared here, not included, so that a build without the sanitizer needs nothing of it.
extern "C" {
void __asan_poison_memory_region(void const volatile*, std::size_t);
void __asan_unpoison_memory_region(void const volatile*, std::size_t);
}

namespace kiln::cpu {

/// What memory_stats() reports; all sizes are in bytes and count whole blocks, not what was asked for.
struct memory_statistics {
  std::size_t in_use = 0;             ///< handed out and not yet freed
  std::size_t cached = 0;             ///< kept for reuse, over all threads
  std::size_t peak = 0;               ///< highest in_use + cached so far
  std::size_t limit = 0;              ///< what the shared level may keep
  std::uint64_t allocations = 0;      ///< calls of allocate()
  std::uint64_t system_requests = 0;  ///< those that had to ask the system
};

namespace process {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

inline constexpr std::size_t huge_page = std::size_t{1} << 21;
inline constexpr std::size_t block_alignment = 64;  // one cache line, one AVX-512 register
inline constexpr std::size_t largest_block = std::size_t{1} << 62;
inline constexpr std::size_t largest_cached = std::size_t{64} << 10;  // above this a lock costs nothing that shows

// Block sizes: 64, 128, 192, 256, then four steps to each further power of two, so at most a quarter is wasted.
constexpr std::size_t class_of(std::size_t bytes) {
  if (bytes <= 256) return bytes == 0 ? 0 : (bytes - 1) / 64;
  const std::size_t last = bytes - 1, power = static_cast<std::size_t>(std::bit_width(last)) - 1;
  return 4 * (power - 8) + (last >> (power - 2));  // the shifted value is 4..7
}
constexpr std::size_t class_size(std::size_t index) {
  if (index < 4) return 64 * (index + 1);
  const std::size_t power = (index - 4) / 4 + 8;
  return (index % 4 + 5) << (power - 2);
}
inline constexpr std::size_t class_count = class_of(largest_block) + 1;
inline constexpr std::size_t cached_classes = class_of(largest_cached) + 1;

// How many blocks of one class a thread keeps: sixteen, fewer where that would be more than 256 KiB. A table, as it is
// asked for with every block that is freed.
inline constexpr auto thread_capacities = [] {
  std::array<std::uint8_t, cached_classes> capacities{};
  for (std::size_t i = 0; i < cached_classes; ++i)
    capacities[i] =
        static_cast<std::uint8_t>(std::clamp(4 * largest_cached / class_size(i), std::size_t{4}, std::size_t{16}));
  return capacities;
}();
constexpr std::size_t thread_capacity(std::size_t index) {
  return thread_capacities[index];
}

constexpr std::size_t system_alignment(std::size_t size) {
  return size >= huge_page ? huge_page : block_alignment;
}

inline void* system_allocate(std::size_t size) noexcept {
  void* block = ::operator new (size, std::align_val_t{system_alignment(size)}, std::nothrow);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (block != nullptr && size >= huge_page) ::madvise(block, size, MADV_HUGEPAGE);  // advice only: may fail
#endif
  return block;
}
inline void system_free(void* block, std::size_t size) noexcept {
  if constexpr (address_sanitizer) __asan_unpoison_memory_region(block, size);
  ::operator delete (block, std::align_val_t{system_alignment(size)});
}

inline std::size_t default_cache_limit() {
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 4;
#endif
  return std::size_t{1} << 30;
}

// Counted by the owning thread alone, read by any: plain loads and stores, no locked instruction.
struct memory_counts {
  std::atomic<std::int64_t> in_use{0};
  std::atomic<std::uint64_t> allocations{0};

  template <class N>
  static void add(std::atomic<N>& counter, N step) {
    counter.store(counter.load(std::memory_order_relaxed) + step, std::memory_order_relaxed);
  }
  void allocated(std::size_t size) {
    add(in_use, static_cast<std::int64_t>(size));
    add(allocations, std::uint64_t{1});
  }
  void freed(std::size_t size) { add(in_use, -static_cast<std::int64_t>(size)); }
};

struct thread_cache;

struct shared_cache {
  std::mutex mutex;
  std::array<std::vector<void*>, class_count> free_blocks;
  std::vector<thread_cache*> threads;
  memory_counts counts;  // of threads that have ended or no longer have a cache
  std::size_t cached = 0, mapped = 0, peak = 0, limit = default_cache_limit();
  std::uint64_t system_requests = 0;

  // Never destroyed: static tensors may be freed after every other static object is gone.
  static shared_cache& instance() {
    static shared_cache& pool = *new shared_cache;
    return pool;
  }

  void* take(std::size_t index) {  // with the lock held; null if none is kept
    auto& blocks = free_blocks[index];
    if (blocks.empty()) return nullptr;
    void* block = blocks.back();
    blocks.pop_back();
    cached -= class_size(index);
    return block;
  }

  void keep(std::size_t index, void* block) noexcept {  // with the lock held
    const std::size_t size = class_size(index);
    if (size > limit) return release(size, block);
    if (cached + size > limit) empty();  // sizes that are no longer used must not crowd out those that are
    try {
      free_blocks[index].push_back(block);
      cached += size;
    } catch (...) {
      release(size, block);
    }
  }

  void release(std::size_t size, void* block) noexcept {
    system_free(block, size);
    mapped -= size;
  }

  void empty() noexcept {  // with the lock held
    for (std::size_t index = 0; index < class_count; ++index) {
      for (void* block : free_blocks[index]) release(class_size(index), block);
      free_blocks[index].clear();
    }
    cached = 0;
  }

  void* request(std::size_t index, std::size_t bytes) {  // with the lock held
    const std::size_t size = class_size(index);
    void* block = system_allocate(size);
    if (block == nullptr) {
      empty();
      block = system_allocate(size);
    }
    if (block == nullptr) {
      throw memory_error(message("allocate: the system has no ", bytes, " bytes (", mapped,
                                 " are held); use smaller tensors or free some"));
    }
    ++system_requests;
    mapped += size;
    peak = std::max(peak, mapped);
    return block;
  }
};

// Pointer and flag are trivial, so they can be read at any time of a thread's life.
struct thread_state {
  thread_cache* cache = nullptr;
  bool ended = false;
};
inline constinit thread_local thread_state this_thread;

struct thread_cache {
  struct stack {
    std::uint32_t count = 0;
    std::array<void*, 16> blocks;
  };
  std::array<stack, cached_classes> stacks;
  memory_counts counts;

  thread_cache() {
    auto& pool = shared_cache::instance();
    const std::lock_guard lock(pool.mutex);
    pool.threads.push_back(this);
    this_thread.cache = this;
  }
  thread_cache(const thread_cache&) = delete;
  thread_cache& operator=(const thread_cache&) = delete;
  ~thread_cache() {
    auto& pool = shared_cache::instance();
    const std::lock_guard lock(pool.mutex);
    this_thread = {nullptr, true};
    for (std::size_t index = 0; index < cached_classes; ++index) give_back(pool, index, 0);
    memory_counts::add(pool.counts.in_use, counts.in_use.load());
    memory_counts::add(pool.counts.allocations, counts.allocations.load());
    std::erase(pool.threads, this);
  }

  void give_back(std::size_t index, std::uint32_t remain) noexcept {
    auto& pool = shared_cache::instance();
    const std::lock_guard lock(pool.mutex);
    give_back(pool, index, remain);
  }

  // With the lock held: leaves the `remain` blocks freed last, which are the likeliest to be in cache.
  void give_back(shared_cache& pool, std::size_t index, std::uint32_t remain) noexcept {
    auto& [count, blocks] = stacks[index];
    if (count <= remain) return;
    const std::uint32_t given = count - remain;
    for (std::uint32_t i = 0; i < given; ++i) pool.keep(index, blocks[i]);
    std::copy(blocks.begin() + given, blocks.begin() + count, blocks.begin());
    count = remain;
  }

  void* refill(std::size_t index, std::size_t bytes) {
    auto& pool = shared_cache::instance();
    const std::lock_guard lock(pool.mutex);
    void* block = pool.take(index);
    if (block == nullptr) return pool.request(index, bytes);
    auto& [count, blocks] = stacks[index];
    while (count < thread_capacity(index) / 2 && !pool.free_blocks[index].empty()) blocks[count++] = pool.take(index);
    return block;
  }
};

inline thread_cache* start_thread_cache() {
  if (this_thread.ended) return nullptr;
  static thread_local thread_cache cache;
  return &cache;
}
inline thread_cache* find_thread_cache() {
  return this_thread.cache != nullptr ? this_thread.cache : start_thread_cache();
}

// The level with the lock, for large blocks and for threads that are past their end.
inline void* shared_allocate(std::size_t index, std::size_t bytes, thread_cache* cache) {
  auto& pool = shared_cache::instance();
  const std::lock_guard lock(pool.mutex);
  void* block = pool.take(index);
  if (block == nullptr) block = pool.request(index, bytes);
  (cache != nullptr ? cache->counts : pool.counts).allocated(class_size(index));
  return block;
}
inline void shared_deallocate(void* block, std::size_t index, thread_cache* cache) noexcept {
  auto& pool = shared_cache::instance();
  const std::lock_guard lock(pool.mutex);
  pool.keep(index, block);
  (cache != nullptr ? cache->counts : pool.counts).freed(class_size(index));
}

inline constinit std::atomic<int> fill_byte{-1};

// Handed-out blocks end where the caller's bytes end, kept ones are all poison: a stray access is reported.
inline void mark_handed_out(void* block, std::size_t bytes, std::size_t size) {
  if constexpr (address_sanitizer) {
    __asan_poison_memory_region(block, size);
    __asan_unpoison_memory_region(block, bytes);
  }
  if (const int byte = fill_byte.load(std::memory_order_relaxed); byte >= 0) std::memset(block, byte, bytes);
}

}  // namespace process

/// A block of at least `bytes` bytes, aligned to 64 (to 2 MiB, and advised to huge pages, from 2 MiB on). Its content
/// is whatever was there. Zero bytes are legal and give a block that must be freed like any other.
/// Throws memory_error when the system has no memory, after the cache was emptied.
inline void* allocate(std::size_t bytes) {
  if (bytes > process::largest_block) {
    throw memory_error(message("allocate: ", bytes, " bytes are more than any machine has; use smaller tensors"));
  }
  const std::size_t index = process::class_of(bytes), size = process::class_size(index);
  process::thread_cache* cache = process::find_thread_cache();
  void* block = nullptr;
  if (index >= process::cached_classes || cache == nullptr) {
    block = process::shared_allocate(index, bytes, cache);
  } else {
    auto& [count, blocks] = cache->stacks[index];
    block = count > 0 ? blocks[--count] : cache->refill(index, bytes);
    cache->counts.allocated(size);
  }
  process::mark_handed_out(block, bytes, size);
  return block;
}

/// Gives a block of allocate() back; `bytes` must be what was asked for. Any thread may do so. Null is ignored.
inline void deallocate(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  const std::size_t index = process::class_of(bytes), size = process::class_size(index);
  process::thread_cache* cache = process::find_thread_cache();
  if constexpr (process::address_sanitizer) __asan_poison_memory_region(block, size);
  if (index >= process::cached_classes || cache == nullptr) return process::shared_deallocate(block, index, cache);
  auto& [count, blocks] = cache->stacks[index];
  const auto capacity = static_cast<std::uint32_t>(process::thread_capacity(index));
  if (count >= capacity) cache->give_back(index, capacity / 2);
  blocks[count++] = block;
  cache->counts.freed(size);
}

/// Numbers of the moment, over all threads.
inline memory_statistics memory_stats() {
  auto& pool = process::shared_cache::instance();
  const std::lock_guard lock(pool.mutex);
  std::int64_t in_use = pool.counts.in_use.load();
  std::uint64_t allocations = pool.counts.allocations.load();
  for (const process::thread_cache* cache : pool.threads) {
    in_use += cache->counts.in_use.load();
    allocations += cache->counts.allocations.load();
  }
  memory_statistics result;
  // Other threads go on counting meanwhile, so the sum can be off by a block for a moment.
  result.in_use = std::min(static_cast<std::size_t>(std::max<std::int64_t>(in_use, 0)), pool.mapped);
  result.cached = pool.mapped - result.in_use;
  result.peak = pool.peak;
  result.limit = pool.limit;
  result.allocations = allocations;
  result.system_requests = pool.system_requests;
  return result;
}

/// Returns all cached blocks to the system, except the few small ones that other threads keep for themselves.
inline void empty_cache() {
  auto* cache = process::find_thread_cache();
  auto& pool = process::shared_cache::instance();
  const std::lock_guard lock(pool.mutex);
  for (std::size_t index = 0; cache != nullptr && index < process::cached_classes; ++index) {
    cache->give_back(pool, index, 0);
  }
  pool.empty();
}

/// How many bytes the shared level may keep for reuse; a quarter of the machine's memory unless set. Zero keeps
/// nothing but the small blocks (at most 64 KiB each, 4 MiB together) that each thread has at hand.
inline void set_cache_limit(std::size_t bytes) {
  auto& pool = process::shared_cache::instance();
  const std::lock_guard lock(pool.mutex);
  pool.limit = bytes;
  if (pool.cached > bytes) pool.empty();
}

/// For tests: every block is handed out filled with this byte (0 to 255), so that a read of memory that nobody wrote
/// shows: 255 makes floating-point values NaN. A negative value, the default, turns it off.
inline void set_memory_fill(int byte) {
  if (byte > 255) throw value_error(message("set_memory_fill: ", byte, " is no byte; use 0 to 255, or -1 for none"));
  process::fill_byte.store(byte, std::memory_order_relaxed);
}

}  // namespace kiln::cpu
