// SPDX-License-Identifier: BSL-1.0
// A lock of one word for short sections, that the child of a fork never finds held by a thread of its parent. Rather
// than std::mutex, which has no such way out, and whose header alone costs a user's file more than all of this.
#pragma once

#include <pthread.h>

#include <atomic>

#include <kiln/core/single_threaded.hpp>
#include <kiln/core/version.hpp>

namespace kiln::detail {

/// Lets the processor know that its thread only waits.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Grows by two with every fork that led to this process.
inline constinit std::atomic<int> fork_generation{2};

struct fork_watch {
  fork_watch() {
    ::pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(2, std::memory_order_relaxed); });
  }
};
inline const fork_watch watched_forks;

/// Mutual exclusion for short sections; a thread that waits for long sleeps. What the lock guards must be in order
/// after each single write: a child may find a section of another thread half done. Where that is not so, the section
/// has to be kept out of forks by holding the lock across them (pthread_atfork).
class short_lock {
 public:
  void lock() noexcept {
    const int held = fork_generation.load(std::memory_order_relaxed);
    if (single_threaded()) return state_.store(held, std::memory_order_relaxed);
    int seen = 0;
    if (!state_.compare_exchange_strong(seen, held, std::memory_order_acquire, std::memory_order_relaxed)) wait(held);
  }
  void unlock() noexcept {
    if (single_threaded()) return state_.store(0, std::memory_order_relaxed);
    if (state_.exchange(0, std::memory_order_release) % 2 != 0) state_.notify_one();
  }

 private:
  [[gnu::noinline]] void wait(int held) noexcept {
    for (int i = 0; i < 64; ++i) {
      int seen = state_.load(std::memory_order_relaxed);
      if (seen < held && state_.compare_exchange_weak(seen, held, std::memory_order_acquire)) return;
      relax();
    }
    const int awaited = held + 1;
    while (state_.exchange(awaited, std::memory_order_acquire) >= held) {
      state_.wait(awaited, std::memory_order_relaxed);
    }
  }

  std::atomic<int> state_{0};  // 0, or the generation of the holder, plus one if somebody may wait
};

/// Holds a lock for a scope.
class locked {
 public:
  explicit locked(short_lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
  ~locked() { lock_.unlock(); }

 private:
  short_lock& lock_;
};

}  // namespace kiln::detail
