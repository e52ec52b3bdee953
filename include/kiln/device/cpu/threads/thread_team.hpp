// SPDX-License-Identifier: BSL-1.0
// Regions of parallel work, and the team of threads that helps with them.
// Work is handed out in chunks to whoever asks and the caller asks first, so a thread that the system does not run,
// because another process has its core, delays nobody: a region ends when its chunks are done, not when all threads
// have met. Own workers rather than Eigen's pool, whose header alone costs 0.4 s of compile time.
#pragma once

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <new>

#include <kiln/core/keep_loaded.hpp>
#include <kiln/core/lock.hpp>
#include <kiln/core/signal_guard.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cpu/processor/float_control.hpp>

namespace kiln::cpu::process {

using kiln::detail::locked;
using kiln::detail::relax;
using kiln::detail::short_lock;

inline constexpr int most_threads = 1024;
inline constexpr int chunks_per_thread = 16;  // evens out chunks of unequal cost and threads that start late
inline constexpr int most_shares = 64;
// How long an idle thread looks for work before it sleeps: waking it up costs the caller some 10 us.
inline constexpr std::int64_t spin_nanoseconds = 50'000;

struct region;

struct thread_place {
  int index = 0;
  bool inside = false;    // a region entered from inside a region runs on its thread alone
  bool worker = false;    // a thread of the team, not of the program
  region* own = nullptr;  // the region that this thread is the caller of
};
KILN_INLINE constinit thread_local thread_place place;

KILN_INLINE constinit std::atomic<int> thread_limit{0};  // what set_num_threads said; 0: not asked for yet

inline std::int64_t now_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Spins until `done()` or until the time is over; the clock is read seldom because reading it is not free.
template <class Done>
bool spin_until(Done done) {
  const std::int64_t end = now_nanoseconds() + spin_nanoseconds;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      relax();
    }
  } while (now_nanoseconds() < end);
  return false;
}

// One running parallel_for. Regions are static slots that are never freed, so a thread that comes late finds a closed
// region, or a later one that it can help with just as well.
struct alignas(64) region {
  static constexpr int open = 1 << 30;
  std::atomic<bool> taken{false};
  std::atomic<int> state{0};  // `open`, plus the number of workers inside
  int participants = 0;       // fixed when the region starts: workers with a higher index stay out
  void (*call)(void*, std::int64_t, std::int64_t, int) = nullptr;
  void* body = nullptr;
  std::int64_t count = 0, chunk = 0;
  std::uint64_t control = 0;  // how the caller rounds
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  bool forked = false;  // its other threads stayed in the parent process, with the chunks that they had

  // Each thread starts in a share of its own, the same one in every region over the same count, so that it finds in
  // its cache what it left there; then it helps with the other shares.
  struct alignas(64) share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  std::array<share, most_shares> shares;
  int share_count = 0;

  void divide(std::int64_t total, std::int64_t grain, int threads) {
    const std::int64_t grains = (total - 1) / grain + 1;
    count = total;
    chunk = ((grains - 1) / (std::int64_t{threads} * chunks_per_thread) + 1) * grain;
    const std::int64_t chunks = (total - 1) / chunk + 1;
    share_count = static_cast<int>(std::min<std::int64_t>({threads, most_shares, chunks}));
    for (int i = 0; i < share_count; ++i) {
      auto& [next, end] = shares[static_cast<std::size_t>(i)];
      next.store(chunks * i / share_count * chunk, std::memory_order_relaxed);
      end = i + 1 == share_count ? total : chunks * (i + 1) / share_count * chunk;
    }
  }

  void run_chunks(int slot) {
    for (int i = 0; i < share_count; ++i) run_share(shares[static_cast<std::size_t>((slot + i) % share_count)], slot);
  }

  void run_share(share& part, int slot) {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::int64_t begin = part.next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= part.end) return;
      try {
        call(body, begin, std::min(begin + chunk, part.end), slot);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
  }

  void help(int index) {
    int seen = state.load(std::memory_order_relaxed);
    do {
      if ((seen & open) == 0) return;
    } while (!state.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed));
    if (index < participants) {
      set_float_control(control);
      run_chunks(index);
    }
    if (state.fetch_sub(1, std::memory_order_acq_rel) == 1) state.notify_one();  // closed, and this was the last
  }

  void close() {
    state.fetch_and(~open, std::memory_order_acq_rel);
    while (!spin_until([this] { return state.load(std::memory_order_acquire) == 0; })) {
      if (const int seen = state.load(std::memory_order_acquire); seen != 0) state.wait(seen);
    }
  }

  // In the child of a fork, where no other thread is left, and the team that this is part of is no longer used.
  [[gnu::cold]] void forked_off(bool own) {
    if (!own) {
      failed.store(true);  // if this thread was helping, it starts no further chunk of what nobody waits for
    } else if ((state.load() & ~open) != 0) {
      forked = true;
      failed.store(true);
      state.store(open);
    }
  }
};

class thread_team {
 public:
  // Null if there is no memory for one: the caller then works alone. Never destroyed: threads must not be joined while
  // the program, or the library it was loaded from, goes down.
  static thread_team* instance() {
    thread_team* team = current_.load(std::memory_order_acquire);
    return team != nullptr ? team : make();
  }

  region* take_region() {
    for (region& slot : regions_) {
      if (!slot.taken.load(std::memory_order_relaxed) && !slot.taken.exchange(true, std::memory_order_acquire)) {
        return &slot;
      }
    }
    return nullptr;
  }
  static void release_region(region& slot) { slot.taken.store(false, std::memory_order_release); }

  // Wakes as many of the first `participants` threads as it takes to have `wanted` awake.
  void wake(int wanted, int participants) {
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_seq_cst) == 0) return;
    const int end = std::min(participants, ready_.load(std::memory_order_relaxed));
    for (int i = 1; i < end; ++i) {
      if (const worker* each = find(i); each != nullptr) wanted -= each->asleep.load(std::memory_order_seq_cst) == 0;
    }
    for (int i = 1; i < end && wanted > 0; ++i) {
      worker* const each = find(i);
      if (each != nullptr && each->asleep.exchange(0, std::memory_order_seq_cst) != 0) {
        each->asleep.notify_one();
        --wanted;
      }
    }
  }

  // Has `threads` threads at work, the caller's own included, or as many as the system gives.
  [[gnu::cold]] void start(int threads) noexcept {
    if (ready_.load(std::memory_order_acquire) >= threads) return;
    const locked hold(lock_);
    if (!kept_loaded_)
      kept_loaded_ = kiln::detail::keep_loaded(reinterpret_cast<const void*>(&thread_team::run_worker));
    for (int index = 1; index < threads; ++index) {
      if (!start_worker(index)) break;
    }
    // Also where the system gave fewer: to ask again in every region would cost more than it brings. set_num_threads
    // asks again.
    ready_.store(std::max(threads, ready_.load(std::memory_order_relaxed)), std::memory_order_release);
  }

  // After the limit has changed: threads above it end, and those that the system refused may be asked for again.
  [[gnu::cold]] void limit_changed() {
    {
      const locked hold(lock_);
      ready_.store(0, std::memory_order_release);
    }
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    for (int i = 1; i < most_threads; ++i) {
      worker* const each = find(i);
      if (each != nullptr && each->asleep.exchange(0, std::memory_order_seq_cst) != 0) each->asleep.notify_one();
    }
  }

 private:
  struct alignas(64) worker {
    std::atomic<int> asleep{0};
    bool running = false;  // guarded by the lock
    int index = 0;
    thread_team* team = nullptr;
  };

  worker* find(int index) const { return workers_[static_cast<std::size_t>(index)].load(std::memory_order_acquire); }

  [[gnu::cold]] static thread_team* make() noexcept {
    if (!prepared_for_forks_.exchange(true) && ::pthread_atfork(nullptr, nullptr, &thread_team::after_fork) != 0) {
      prepared_for_forks_.store(false);
      return nullptr;
    }
    thread_team* const team = new (std::nothrow) thread_team;
    thread_team* expected = nullptr;
    if (team == nullptr || current_.compare_exchange_strong(expected, team)) return team;
    delete team;
    return expected;
  }

  // The child of a fork has no thread but the one that forked. It begins anew with a team of its own; the old one is
  // left as it is, its locks with it, since other threads were in the midst of using it.
  [[gnu::cold]] static void after_fork() {
    thread_team* const team = current_.exchange(nullptr);
    if (team == nullptr) return;
    team->abandoned_.store(true);
    for (region& slot : team->regions_) slot.forked_off(&slot == place.own);
    if (place.worker) place = {};  // what it helped with exists no more: it may start regions of its own
  }

  [[gnu::cold]] bool start_worker(int index) noexcept {
    worker* each = find(index);
    if (each == nullptr) {
      each = new (std::nothrow) worker;
      if (each == nullptr) return false;
      each->index = index;
      each->team = this;
      workers_[static_cast<std::size_t>(index)].store(each, std::memory_order_release);
    }
    if (each->running) return true;
    const kiln::detail::signal_guard quiet;
    pthread_t thread;
    each->running = quiet.blocked() && ::pthread_create(&thread, nullptr, &thread_team::run_worker, each) == 0;
    if (each->running) ::pthread_detach(thread);
    return each->running;
  }

  static void* run_worker(void* object) {
    worker& self = *static_cast<worker*>(object);
    place = {self.index, true, true, nullptr};
    self.team->work(self);
    return nullptr;
  }

  [[gnu::cold]] void work(worker& self) {
    while (!abandoned_.load(std::memory_order_relaxed)) {
      const int seen = epoch_.load(std::memory_order_seq_cst);
      if (ended(self)) return;
      for (region& slot : regions_) slot.help(self.index);
      if (abandoned_.load(std::memory_order_relaxed)) return;
      if (spin_until([&] { return epoch_.load(std::memory_order_acquire) != seen; })) continue;
      asleep_.fetch_add(1, std::memory_order_seq_cst);
      self.asleep.store(1, std::memory_order_seq_cst);
      if (epoch_.load(std::memory_order_seq_cst) == seen) self.asleep.wait(1, std::memory_order_seq_cst);
      self.asleep.store(0, std::memory_order_relaxed);
      asleep_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }

  bool ended(worker& self) {
    if (self.index < thread_limit.load(std::memory_order_relaxed)) return false;
    const locked hold(lock_);
    if (self.index < thread_limit.load(std::memory_order_relaxed)) return false;
    self.running = false;
    return true;
  }

  static inline constinit std::atomic<thread_team*> current_{nullptr};
  static inline constinit std::atomic<bool> prepared_for_forks_{false};

  std::array<region, 8> regions_;  // so many threads of the program can share the team; further ones run alone
  alignas(64) std::atomic<int> epoch_{0};
  std::atomic<int> asleep_{0};
  std::atomic<int> ready_{0};  // a region of so many threads needs no `start`
  std::atomic<bool> abandoned_{false};
  short_lock lock_;
  bool kept_loaded_ = false;                                  // guarded by the lock
  std::array<std::atomic<worker*>, most_threads> workers_{};  // by index; once made they stay, their threads need not
};

}  // namespace kiln::cpu::process
