// SPDX-License-Identifier: BSL-1.0
// Threads that make numbered results ahead of who takes them, in order: what makes a DataLoader's batches. Without
// threads, results are made when they are asked for.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/lock.hpp>
#include <kiln/device/cpu/processor/float_control.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::data::detail {

/// What a worker does. `take()` is called by one thread at a time and gives what is to be done next, or nothing at the
/// end; `make(work)` makes the result of it, on several threads at once. Results come in the order of take().
template <class Work, class Result>
class source {
 public:
  virtual ~source() = default;
  virtual std::optional<Work> take() = 0;
  virtual Result make(Work work) = 0;
};

/// Results of a source, in order. An exception of take() or make() comes in its place, after what was before it, and
/// ends the rest. In the child of a fork there are no such threads: next() says so, and an object that lost() its
/// threads must not be destroyed, but left where it is.
template <class Work, class Result>
class ordered_workers {
 public:
  /// At most `ahead` results are made before they are taken. Where the system gives no thread, work goes on with those
  /// there are, or with the one that asks.
  ordered_workers(source<Work, Result>& from, int threads, std::size_t ahead) : from_(from), slots_(ahead) {
    const std::uint64_t rounding = cpu::process::float_control();
    sigset_t all, before;
    ::sigfillset(&all);
    const bool quiet = threads > 0 && ::pthread_sigmask(SIG_SETMASK, &all, &before) == 0;  // signals are the program's
    threads_.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) {
      try {
        threads_.emplace_back([this, rounding] {
          cpu::process::set_float_control(rounding);
          work();
        });
      } catch (const std::system_error&) {
        break;
      }
    }
    if (quiet) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ordered_workers(const ordered_workers&) = delete;
  ordered_workers& operator=(const ordered_workers&) = delete;
  ~ordered_workers() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    space_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  /// True in the child of a process that had started the threads.
  bool lost() const noexcept {
    return !threads_.empty() && generation_ != kiln::detail::fork_generation.load(std::memory_order_relaxed);
  }

  /// The next result, nothing at the end. Throws error where lost().
  std::optional<Result> next() {
    if (lost())
      throw error(
          "DataLoader: this is the child of a fork within an epoch, and the workers that make its batches are not "
          "here: begin an epoch in the child, or use .workers = 0");
    if (threads_.empty()) {
      if (stopped_) return std::nullopt;
      stopped_ = true;  // unless all goes well
      const no_grad quiet;
      std::optional<Work> work = from_.take();
      if (!work) return std::nullopt;
      std::optional<Result> made(from_.make(std::move(*work)));
      stopped_ = false;
      return made;
    }
    std::unique_lock lock(mutex_);
    if (stopped_) return std::nullopt;
    slot& wanted = slots_[handed_ % slots_.size()];
    made_.wait(lock, [&] { return wanted.ready || (ended_ && handed_ == taken_); });
    if (!wanted.ready) return std::nullopt;
    wanted.ready = false;
    std::optional<Result> result = std::move(wanted.result);
    wanted.result.reset();
    const std::exception_ptr failure = std::exchange(wanted.failure, nullptr);
    ++handed_;
    stopped_ = failure != nullptr;
    lock.unlock();
    failure ? space_.notify_all() : space_.notify_one();
    if (failure) std::rethrow_exception(failure);
    return result;
  }

 private:
  struct slot {
    std::optional<Result> result;
    std::exception_ptr failure;
    bool ready = false;
  };

  void work() {
    const no_grad quiet;
    std::unique_lock taking(take_mutex_, std::defer_lock);
    for (;;) {
      // Who takes has the turn until it has its number, so that numbers are in the order of what is taken.
      taking.lock();
      std::size_t number;
      {
        std::unique_lock lock(mutex_);
        space_.wait(lock, [this] { return stopped_ || taken_ < handed_ + slots_.size(); });
        if (stopped_ || ended_) return;
        number = taken_;
      }
      std::optional<Work> todo;
      slot done;
      try {
        todo = from_.take();
      } catch (...) {
        done.failure = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        if (!todo) ended_ = true;
        if (todo || done.failure) ++taken_;
      }
      taking.unlock();
      if (!todo && !done.failure) {
        made_.notify_all();
        space_.notify_all();
        return;
      }
      if (todo) {
        try {
          done.result.emplace(from_.make(std::move(*todo)));
        } catch (...) {
          done.failure = std::current_exception();
        }
      }
      done.ready = true;
      {
        const std::lock_guard lock(mutex_);
        slots_[number % slots_.size()] = std::move(done);
      }
      made_.notify_one();
    }
  }

  source<Work, Result>& from_;
  std::vector<slot> slots_;
  std::mutex take_mutex_, mutex_;
  std::condition_variable made_, space_;
  std::size_t taken_ = 0, handed_ = 0;
  bool ended_ = false, stopped_ = false;
  const int generation_ = kiln::detail::fork_generation.load(std::memory_order_relaxed);
  std::vector<std::thread> threads_;
};

}  // namespace kiln::data::detail
