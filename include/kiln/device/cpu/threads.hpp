// SPDX-License-Identifier: BSL-1.0
// The threads of the CPU device: parallel_for, how many threads it may use, and which one a chunk runs on.
// Work is handed out in chunks to whoever asks and the caller asks first, so a thread that the system does not run,
// because another process has its core, delays nobody: a region ends when its chunks are done, not when all threads
// have met. Own workers rather than Eigen's pool, whose header alone costs 0.4 s of compile time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>

namespace kiln::cpu {

namespace process {

inline constexpr int most_threads = 1024;
inline constexpr int chunks_per_thread = 16;  // evens out chunks of unequal cost and threads that start late
inline constexpr int most_shares = 64;
// How long an idle thread looks for work before it sleeps: waking it up costs the caller some 10 us.
inline constexpr auto spin_time = std::chrono::microseconds(50);

struct thread_place {
  int index = 0;
  bool inside = false;  // a region entered from inside a region runs on its thread alone
};
inline constinit thread_local thread_place place;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done()` or until the time is over; the clock is read seldom because reading it is not free.
template <class Done>
bool spin_until(Done done) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() - start < spin_time);
  return false;
}

// One running parallel_for. Regions are static slots that are never freed, so a thread that comes late finds a closed
// region, or a later one that it can help with just as well.
struct alignas(64) region {
  static constexpr int open = 1 << 30;
  std::atomic<bool> taken{false};
  std::atomic<int> state{0};  // `open`, plus the number of workers inside
  void (*call)(void*, std::int64_t, std::int64_t) = nullptr;
  void* body = nullptr;
  std::int64_t count = 0, chunk = 0;
  std::exception_ptr error;
  std::atomic<bool> failed{false};

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

  void run_chunks() {
    for (int i = 0; i < share_count; ++i) run_share(shares[static_cast<std::size_t>((place.index + i) % share_count)]);
  }

  void run_share(share& part) {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::int64_t begin = part.next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= part.end) return;
      try {
        call(body, begin, std::min(begin + chunk, part.end));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
  }

  void help() {
    int seen = state.load(std::memory_order_relaxed);
    do {
      if ((seen & open) == 0) return;
    } while (!state.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed));
    run_chunks();
    if (state.fetch_sub(1, std::memory_order_acq_rel) == 1) state.notify_one();  // closed, and this was the last
  }

  void close() {
    state.fetch_and(~open, std::memory_order_acq_rel);
    while (!spin_until([this] { return state.load(std::memory_order_acquire) == 0; })) {
      if (const int seen = state.load(std::memory_order_acquire); seen != 0) state.wait(seen);
    }
  }
};

class thread_pool {
 public:
  // Never destroyed: threads must not be joined while the program, or the library it was loaded from, goes down.
  static thread_pool& instance() {
    static thread_pool& pool = *new thread_pool;
    return pool;
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

  void wake(int wanted) {
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    const int asleep = asleep_.load(std::memory_order_seq_cst);
    if (asleep == 0) return;
    const int awake = static_cast<int>(workers_.size()) - asleep;
    for (int i = std::max(0, awake); i < wanted; ++i) epoch_.notify_one();
  }

  void start(int threads) {
    if (started_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (started_.load(std::memory_order_relaxed)) return;
    stopping_.store(false);
    try {
      for (int index = 1; index < threads; ++index) workers_.emplace_back([this, index] { work(index); });
    } catch (const std::system_error&) {
      // The system has no more threads: the work gets done by those there are.
    }
    started_.store(true, std::memory_order_release);
  }

  // Waits until no region runs, ends all workers, and lets `change` run before a region can start again.
  template <class Change>
  void restart(Change change) {
    const std::lock_guard lock(restart_mutex_);
    for (region& slot : regions_) {
      while (slot.taken.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    stopping_.store(true);
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    started_.store(false);
    change();
    for (region& slot : regions_) release_region(slot);
  }

 private:
  void work(int index) {
    place = {index, true};
    while (!stopping_.load(std::memory_order_acquire)) {
      const int seen = epoch_.load(std::memory_order_seq_cst);
      for (region& slot : regions_) slot.help();
      const auto changed = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
      if (spin_until(changed)) continue;
      asleep_.fetch_add(1, std::memory_order_seq_cst);
      epoch_.wait(seen, std::memory_order_seq_cst);
      asleep_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }

  std::array<region, 8> regions_;  // so many threads of the program can share the pool; further ones run alone
  alignas(64) std::atomic<int> epoch_{0};
  std::atomic<int> asleep_{0};
  std::atomic<bool> stopping_{false}, started_{false};
  std::mutex mutex_, restart_mutex_;
  std::vector<std::thread> workers_;
};

inline int checked_threads(int count, const char* source) {
  if (count < 1 || count > most_threads) {
    throw value_error(message(source, ": ", count, " threads; use a number from 1 to ", most_threads));
  }
  return count;
}

inline int default_threads() {
  if (const char* text = std::getenv("KILN_NUM_THREADS"); text != nullptr && *text != '\0') {
    int count = 0;
    const char* end = text + std::strlen(text);
    if (const auto [stop, problem] = std::from_chars(text, end, count); problem != std::errc{} || stop != end) {
      throw value_error(message("KILN_NUM_THREADS: '", text, "' is no number of threads; use 1 to ", most_threads));
    }
    return checked_threads(count, "KILN_NUM_THREADS");
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads);
}

inline constinit std::atomic<int> thread_limit{0};  // 0: not asked for yet

}  // namespace process

/// How many threads parallel_for may use, the caller's own included: what set_num_threads said, else the environment's
/// KILN_NUM_THREADS, else one per hardware thread. Throws value_error if KILN_NUM_THREADS is not a number from 1 on.
inline int num_threads() {
  const int limit = process::thread_limit.load(std::memory_order_relaxed);
  if (limit != 0) return limit;
  int expected = 0;
  const int standard = process::default_threads();
  return process::thread_limit.compare_exchange_strong(expected, standard) ? standard : expected;
}

/// Sets how many threads parallel_for may use, from 1 to 1024; waits for running regions to end first.
/// Throws value_error for another number, or when called from inside parallel_for.
inline void set_num_threads(int count) {
  process::checked_threads(count, "set_num_threads");
  if (process::place.inside) throw value_error("set_num_threads: called inside parallel_for; call it before");
  if (count == process::thread_limit.load()) return;
  process::thread_pool::instance().restart([count] { process::thread_limit.store(count); });
}

/// Which of the num_threads() threads runs the present chunk: 0 for the caller of parallel_for (and outside of it),
/// so that an accumulator per thread can be an array.
inline int thread_index() {
  return process::place.index;
}

namespace process {

// The part that does not depend on the body, compiled once.
inline void run_region(std::int64_t count, std::int64_t grain, void (*call)(void*, std::int64_t, std::int64_t),
                       void* body) {
  if (grain < 1) throw value_error(message("parallel_for: a grain of ", grain, "; use 1 or more"));
  thread_pool& pool = thread_pool::instance();
  region* slot = pool.take_region();
  if (slot == nullptr) return call(body, 0, count);
  const int threads = num_threads();
  pool.start(threads);
  slot->call = call;
  slot->body = body;
  slot->divide(count, grain, threads);
  slot->state.store(region::open, std::memory_order_release);
  const thread_place outside = std::exchange(place, {0, true});
  pool.wake(static_cast<int>(std::min<std::int64_t>(threads - 1, (count - 1) / slot->chunk)));
  slot->run_chunks();
  slot->close();
  place = outside;
  std::exception_ptr error;
  if (slot->failed.load(std::memory_order_relaxed)) {
    error = std::exchange(slot->error, nullptr);
    slot->failed.store(false, std::memory_order_relaxed);
  }
  thread_pool::release_region(*slot);
  if (error) std::rethrow_exception(error);
}

}  // namespace process

/// Calls `body(begin, end)` on disjoint ranges that cover [0, count), on several threads if there is more than one
/// grain of work. Every `begin` is a multiple of `grain`. Runs as body(0, count) on the caller's thread for one grain,
/// for one thread, and inside another parallel_for. The first exception of a body is thrown on to the caller once all
/// chunks under way have ended; the remaining ones don't start.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  if (count <= 0) return;
  if (count <= grain || process::place.inside || num_threads() == 1) {
    body(std::int64_t{0}, count);
    return;
  }
  using Plain = std::remove_reference_t<Body>;
  process::run_region(
      count, grain,
      [](void* object, std::int64_t begin, std::int64_t end) { (*static_cast<Plain*>(object))(begin, end); },
      const_cast<std::remove_const_t<Plain>*>(std::addressof(body)));
}

}  // namespace kiln::cpu

namespace kiln {
using cpu::num_threads;
using cpu::set_num_threads;
}  // namespace kiln
