// SPDX-License-Identifier: BSL-1.0
// The definitions of workers.hpp.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/core/lock.hpp>
#include <kiln/core/signal_guard.hpp>
#include <kiln/data/workers.hpp>
#include <kiln/device/cpu/processor/float_control.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::data::detail {

// Threads run within it, by its address.
struct worker_threads::state {
  struct result {
    std::exception_ptr failure;
    bool ready = false;
  };

  placed_work& of;
  std::vector<result> results;  // by place
  std::mutex take_mutex, mutex;
  std::condition_variable made, space;
  std::size_t taken = 0, handed = 0;
  bool ended = false, stopped = false;
  const int generation = kiln::detail::fork_generation.load(std::memory_order_relaxed);
  std::vector<std::thread> threads;

  state(placed_work& w, std::size_t places) : of(w), results(places) {}
  std::size_t place_of(std::size_t number) const { return number % results.size(); }
  void work();
  std::optional<std::size_t> make_next();
};

KILN_INLINE worker_threads::worker_threads(placed_work& of, int threads, std::size_t places)
    : state_(std::make_unique<state>(of, places)) {
  const std::uint64_t rounding = cpu::process::float_control();
  state_->threads.reserve(static_cast<std::size_t>(threads));
  const kiln::detail::signal_guard quiet;
  // Neither a thread nor the memory for one need be there. An exception would end the program: those that run are not
  // joined by anybody.
  try {
    while (threads-- > 0)
      state_->threads.emplace_back([s = state_.get(), rounding] {
        cpu::process::set_float_control(rounding);
        s->work();
      });
  } catch (...) {
  }
}

KILN_INLINE worker_threads::~worker_threads() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
  }
  state_->space.notify_all();
  for (std::thread& t : state_->threads) t.join();
}

KILN_INLINE bool worker_threads::lost() const noexcept {
  return !state_->threads.empty() &&
         state_->generation != kiln::detail::fork_generation.load(std::memory_order_relaxed);
}

// Without threads.
KILN_INLINE std::optional<std::size_t> worker_threads::state::make_next() {
  if (stopped) return std::nullopt;
  stopped = true;  // unless all goes well
  const no_grad quiet;
  if (!of.take(0)) return std::nullopt;
  of.make(0);
  stopped = false;
  return 0;
}

KILN_INLINE std::optional<std::size_t> worker_threads::next() {
  state& s = *state_;
  if (lost())
    throw error(
        "DataLoader: this is the child of a fork within an epoch, and the workers that make its batches are not "
        "here: begin an epoch in the child, or use .workers = 0");
  if (s.threads.empty()) return s.make_next();
  std::unique_lock lock(s.mutex);
  if (s.stopped) return std::nullopt;
  const std::size_t place = s.place_of(s.handed);
  state::result& wanted = s.results[place];
  s.made.wait(lock, [&] { return wanted.ready || (s.ended && s.handed == s.taken); });
  if (!std::exchange(wanted.ready, false)) return std::nullopt;
  if (!wanted.failure) return place;
  s.stopped = true;
  const std::exception_ptr failure = std::exchange(wanted.failure, nullptr);
  lock.unlock();
  s.space.notify_all();
  std::rethrow_exception(failure);
}

KILN_INLINE void worker_threads::release() {
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->handed;
  }
  state_->space.notify_one();
}

KILN_INLINE void worker_threads::state::work() {
  const no_grad quiet;
  std::unique_lock taking(take_mutex, std::defer_lock);
  for (;;) {
    // Who takes has the turn until it has its number, so that numbers are in the order of what is taken.
    taking.lock();
    std::size_t place;
    {
      std::unique_lock lock(mutex);
      space.wait(lock, [this] { return stopped || taken < handed + results.size(); });
      if (stopped || ended) return;
      place = place_of(taken);
    }
    bool has_work = false;
    std::exception_ptr failure;
    try {
      has_work = of.take(place);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex);
      if (!has_work) ended = true;
      if (has_work || failure) ++taken;
    }
    taking.unlock();
    if (!has_work && !failure) {
      made.notify_all();
      space.notify_all();
      return;
    }
    if (has_work) {
      try {
        of.make(place);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    {
      const std::lock_guard lock(mutex);
      results[place] = {std::move(failure), true};
    }
    made.notify_one();
  }
}

}  // namespace kiln::data::detail
