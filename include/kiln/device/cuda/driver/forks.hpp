// SPDX-License-Identifier: BSL-1.0
// CUDA and forks: the child of a process that has started CUDA can use nothing of it. Here it is told so before it
// takes a lock, which another thread of its parent may have held, or reads what that thread was about to write; and
// what it destroys of its parent's leaves the driver alone.
#pragma once

#include <atomic>

#include <kiln/core/error.hpp>
#include <kiln/core/lock.hpp>
#include <kiln/core/version.hpp>

namespace kiln::cuda::detail {

/// The generation of the process that began to open the driver; 0: none has, or there was none to open.
inline constinit std::atomic<int> driver_generation{0};

/// True in the child of a process that had started CUDA.
inline bool lost_by_fork() noexcept {
  const int begun = driver_generation.load(std::memory_order_relaxed);
  return begun != 0 && begun != kiln::detail::fork_generation.load(std::memory_order_relaxed);
}

/// What such a child is told.
const char* words_for_child() noexcept;
[[noreturn]] void throw_in_child();

/// Throws device_error where lost_by_fork().
inline void refuse_in_child() {
  if (lost_by_fork()) throw_in_child();
}

/// A lock of device/cuda: refuses rather than waits in a child that CUDA is lost to.
class device_lock {
 public:
  void lock() {
    refuse_in_child();
    lock_.lock();
  }
  void unlock() noexcept { lock_.unlock(); }

 private:
  kiln::detail::short_lock lock_;
};

/// The same, and the thread that holds it may take it again.
class recursive_device_lock {
 public:
  void lock() {
    refuse_in_child();
    const void* const self = &this_thread;
    if (holder_.load(std::memory_order_relaxed) != self) {
      lock_.lock();
      holder_.store(self, std::memory_order_relaxed);
    }
    ++depth_;
  }
  void unlock() noexcept {
    if (--depth_ > 0) return;
    holder_.store(nullptr, std::memory_order_relaxed);
    lock_.unlock();
  }

 private:
  inline static thread_local char this_thread = 0;
  kiln::detail::short_lock lock_;
  std::atomic<const void*> holder_{nullptr};
  int depth_ = 0;
};

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/forks_impl.hpp>
#endif
