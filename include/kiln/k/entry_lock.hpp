// SPDX-License-Identifier: BSL-1.0
// Calls of q and a thread that trains take turns: a call waits for the step that is being made, and goes first then.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace kiln::k {

/// Who computes. Without a thread that trains, a call costs one look at a number.
class entry_lock {
 public:
  /// For the time of a call of q, also within another.
  class call {
   public:
    explicit call(entry_lock& of) : of_(of) {
      if (of_.depth_++ == 0 && of_.trainers_.load(std::memory_order_acquire) > 0) of_.take();
    }
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call() {
      if (--of_.depth_ == 0 && of_.held_) of_.give();
    }

   private:
    entry_lock& of_;
  };
  /// Whether this call is not within another.
  bool outermost() const { return depth_ == 1; }

  /// Calls f, which waits for a thread that trains, while that may go on.
  template <class F>
  void while_open(F f) {
    const bool held = held_;
    if (held) give();
    f();
    if (held) take();
  }
  /// For a thread that trains: one step, when no call waits.
  template <class F>
  void step(F f) {
    while (calls_waiting_.load(std::memory_order_acquire) > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    const std::lock_guard alone(mutex_);
    f();
  }
  /// Before a thread begins to train, within a call; and after it has ended.
  void trainer_begins() {
    trainers_.fetch_add(1, std::memory_order_acq_rel);
    if (!held_) take();
  }
  void trainer_ended() { trainers_.fetch_sub(1, std::memory_order_acq_rel); }

 private:
  void take() {
    calls_waiting_.fetch_add(1, std::memory_order_acq_rel);
    mutex_.lock();
    calls_waiting_.fetch_sub(1, std::memory_order_acq_rel);
    held_ = true;
  }
  void give() {
    held_ = false;
    mutex_.unlock();
  }
  std::mutex mutex_;
  std::atomic<int> trainers_{0}, calls_waiting_{0};
  int depth_ = 0;      // of calls within each other; of q's main thread
  bool held_ = false;  // by a call
};

inline entry_lock& entries() {
  static entry_lock& all = *new entry_lock;
  return all;
}

}  // namespace kiln::k
