// SPDX-License-Identifier: BSL-1.0
// The level of the memory pool that all threads share, and what it keeps: blocks as they were given back, by class, so
// that the same size again is one step; large ones become other sizes once a request finds none of its own.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <kiln/core/error.hpp>
#include <kiln/core/lock.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cpu/memory/memory_spans.hpp>
#include <kiln/device/cpu/processor/system_limits.hpp>

namespace kiln::cpu::process {

using kiln::detail::locked;
using kiln::detail::short_lock;

// Counted by the owning thread alone, read by any: plain loads and stores, no locked instruction.
struct memory_counts {
  std::atomic<std::int64_t> in_use{0};
  std::atomic<std::uint64_t> allocations{0};

  template <class N>
  static void add(std::atomic<N>& counter, N step) {
    counter.store(counter.load(std::memory_order_relaxed) + step, std::memory_order_relaxed);
  }
  void add(const memory_counts& other) {
    add(in_use, other.in_use.load());
    add(allocations, other.allocations.load());
  }
  void allocated(std::size_t size) {
    add(in_use, static_cast<std::int64_t>(size));
    add(allocations, std::uint64_t{1});
  }
  void freed(std::size_t size) { add(in_use, -static_cast<std::int64_t>(size)); }
};

inline constexpr std::size_t watched_size = std::size_t{1} << 20;  // blocks that matter to the memory of a machine
// How many bytes of free blocks of other sizes may lie there while a request goes to the system.
inline constexpr std::size_t small_slack = std::size_t{4} << 20, large_slack = std::size_t{64} << 20;

// Free blocks, last in first out.
class block_list {
 public:
  block_list() = default;
  block_list(const block_list&) = delete;
  block_list& operator=(const block_list&) = delete;
  ~block_list() { std::free(blocks_); }

  std::size_t size() const { return size_; }
  bool push(void* block) noexcept {  // false if there is no memory for a longer list
    if (size_ == capacity_ && !grow()) return false;
    blocks_[size_++] = block;
    return true;
  }
  void* pop() { return blocks_[--size_]; }

 private:
  [[gnu::cold]] bool grow() noexcept {
    const std::size_t capacity = 2 * capacity_ + 4;
    void* const longer = std::realloc(blocks_, capacity * sizeof(void*));
    if (longer == nullptr) return false;
    blocks_ = static_cast<void**>(longer);
    capacity_ = capacity;
    return true;
  }

  void** blocks_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

struct thread_cache;

// All but the lock is for who holds it.
class memory_pool {
 public:
  short_lock lock;
  thread_cache* threads = nullptr;  // the first of them, which leads to the next
  memory_counts counts;             // of threads that have ended or no longer have a cache
  std::size_t mapped = 0, peak = 0;
  std::uint64_t system_requests = 0;

  void* take(std::size_t index) noexcept {  // null if none of this class is kept
    if (!has(index)) return nullptr;
    void* const block = free_blocks_[index].pop();
    cached_[index >= small_classes] -= class_size(index);
    note_use();
    return block;
  }
  bool has(std::size_t index) const { return free_blocks_[index].size() > 0; }

  void keep(std::size_t index, void* block) noexcept {
    const std::size_t size = class_size(index);
    // Sizes that are no longer used must not crowd out those that are.
    if (cached() + size > limit_ && size <= limit_) shrink(std::min(limit_ / 2, limit_ - size));
    if (index < small_classes) {
      if (size > limit_ || !list(index, block)) release_small(index, block);
      return;
    }
    if (!list(index, block)) {
      spans_.put(static_cast<char*>(block));
      cached_[1] += size;
    }
    if (cached() > limit_) shrink(limit_);
    if (size >= watched_size && coarse_seconds() != looked_at_) look_at_limits(0);
  }

  [[gnu::cold]] void* request(std::size_t index, std::size_t bytes) {
    void* const block = index < small_classes ? request_small(index) : request_large(class_size(index));
    if (block == nullptr) {
      throw memory_error(message("allocate: the system has no ", bytes, " bytes (", mapped,
                                 " are held); use smaller tensors or free some"));
    }
    return block;
  }

  std::size_t limit() const { return limit_; }
  [[gnu::cold]] void set_limit(std::size_t bytes) noexcept {
    limit_ = bytes;
    shrink(bytes);
  }
  // Keeps at most so many bytes. What is at hand for a size no longer is, but large memory may well be there.
  [[gnu::cold]] void shrink(std::size_t most) noexcept {
    if (cached() <= most) return;
    if (cached_[0] > most / 2) release_small(cached_[0] - most / 2);
    if (cached() > most) give_back_large(cached() - most);
  }

  // Keeps nothing, and forgets how much was in use: what comes now may be another part of the program.
  void empty() noexcept {
    shrink(0);
    most_used_ = mapped - cached();
  }

  // Where the files of the system are looked for: for tests.
  [[gnu::cold]] void set_root(const std::string& root) {
    root_ = root;
    limit_ = default_limit();
    taken_since_ = 0;
    looked_at_ = 0;
  }

 private:
  [[gnu::cold]] std::size_t default_limit() {
    most_ = limits_of_memory(root_).most;
    return static_cast<std::size_t>(most_ / 4);
  }

  std::size_t cached() const { return cached_[0] + cached_[1]; }

  bool list(std::size_t index, void* block) noexcept {
    if (!free_blocks_[index].push(block)) return false;
    cached_[index >= small_classes] += class_size(index);
    return true;
  }

  [[gnu::cold]] void* request_small(std::size_t index) noexcept {
    const std::size_t size = class_size(index);
    if (cached_[0] > small_slack) release_small(size);  // sizes that drift must not pile up
    void* block = ::operator new (size, std::align_val_t{block_alignment}, std::nothrow);
    if (block == nullptr) {
      shrink(0);
      block = ::operator new (size, std::align_val_t{block_alignment}, std::nothrow);
    }
    if (block != nullptr) count_fresh(size);
    return block;
  }

  [[gnu::cold]] void* request_large(std::size_t size) noexcept {
    char* block = spans_.take(size, span::wet);
    if (block == nullptr && collect()) block = spans_.take(size, span::wet);
    if (block != nullptr) {
      cached_[1] -= size;
      note_use();
      return block;
    }
    // What is there does not fit. Beyond half as much again as was ever in use, as many bytes of it go as come, so that
    // sizes that drift don't pile up; below that, a program that repeats itself finds all its sizes in the end.
    taken_since_ += size;
    if (taken_since_ >= std::min<std::uint64_t>(large_slack, most_ / 32)) look_at_limits(size);
    const std::size_t plenty = most_used_ + most_used_ / 2 + large_slack;
    if (mapped + size > plenty) give_back_large(std::min(cached_[1], mapped + size - plenty));
    block = spans_.take(size, span::dry);
    if (block == nullptr && spans_.map(size)) block = spans_.take(size, span::dry);
    if (block == nullptr) {
      shrink(0);  // what was split may now be whole
      block = spans_.take(size, span::dry);
      if (block == nullptr && spans_.map(size)) block = spans_.take(size, span::dry);
    }
    if (block != nullptr) count_fresh(size);
    return block;
  }

  void count_fresh(std::size_t size) noexcept {
    ++system_requests;
    mapped += size;
    peak = std::max(peak, mapped);
    note_use();
  }
  void note_use() noexcept { most_used_ = std::max(most_used_, mapped - cached()); }

  // Moves the large blocks that are kept by class to where they merge; false if there are none.
  [[gnu::cold]] bool collect() noexcept {
    bool any = false;
    for (std::size_t index = small_classes; index < class_count; ++index) {
      any |= has(index);
      while (has(index)) spans_.put(static_cast<char*>(free_blocks_[index].pop()));
    }
    return any;
  }

  [[gnu::cold]] void give_back_large(std::size_t wanted) noexcept {
    collect();
    const std::size_t given = spans_.give_back(wanted);
    cached_[1] -= given;
    mapped -= given;
  }

  [[gnu::cold]] void release_small(std::size_t index, void* block) noexcept {
    const std::size_t size = class_size(index);
    if constexpr (address_sanitizer) __asan_unpoison_memory_region(block, size);
    ::operator delete (block, std::align_val_t{block_alignment});
    mapped -= size;
  }
  [[gnu::cold]] void release_small(std::size_t wanted) noexcept {  // the classes that keep most bytes first
    for (std::size_t given = 0; given < wanted && cached_[0] > 0;) {
      std::size_t most = 0;
      for (std::size_t index = 1; index < small_classes; ++index) {
        if (free_blocks_[index].size() * class_size(index) > free_blocks_[most].size() * class_size(most)) most = index;
      }
      // A quarter of them at a time, as to look for the class costs more than to release a block.
      for (std::size_t left = free_blocks_[most].size() / 4 + 1; left > 0 && given < wanted; --left) {
        release_small(most, take(most));
        given += class_size(most);
      }
    }
  }

  // Keeps less if memory runs short: as much less as it takes to leave some. To find out takes some 20 us, so it is
  // asked now and then: once a second where blocks are given back, and after so many bytes where they are taken.
  [[gnu::cold]] void look_at_limits(std::size_t wanted) noexcept {
    taken_since_ = 0;
    looked_at_ = coarse_seconds();
    const memory_limits limits = limits_of_memory(root_);
    most_ = limits.most;
    const std::uint64_t wished = wanted + std::min<std::uint64_t>(most_ / 16, std::uint64_t{1} << 30);
    if (limits.available < wished)
      shrink(cached() - std::min(cached(), static_cast<std::size_t>(wished - limits.available)));
  }
  static std::int64_t coarse_seconds() noexcept {
#if defined(CLOCK_MONOTONIC_COARSE)
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
#else
    return ::time(nullptr);
#endif
  }

  std::array<block_list, class_count> free_blocks_;
  span_heap spans_;
  std::array<std::size_t, 2> cached_{};  // in small and in large blocks
  std::size_t most_used_ = 0;
  std::uint64_t most_ = 0, taken_since_ = 0;
  std::int64_t looked_at_ = 0;
  std::string root_;
  std::size_t limit_ = default_limit();
};

}  // namespace kiln::cpu::process
