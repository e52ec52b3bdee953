// SPDX-License-Identifier: BSL-1.0
// The second part of threads.hpp: what it declares, defined.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <utility>

#include <kiln/core/environment.hpp>
#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cpu/processor/system_limits.hpp>
#include <kiln/device/cpu/threads/thread_team.hpp>

namespace kiln::cpu {

namespace process {

[[gnu::cold]] KILN_INLINE int checked_threads(long count, const char* source) {
  if (count < 1 || count > most_threads) {
    throw value_error(message(source, ": ", count, " threads; use a number from 1 to ", most_threads));
  }
  return static_cast<int>(count);
}

[[gnu::cold]] KILN_INLINE int default_threads() {
  if (const char* text = kiln::detail::environment("KILN_NUM_THREADS"); text != nullptr && *text != '\0') {
    char* end = nullptr;
    const long count = std::strtol(text, &end, 10);
    if (*end != '\0' || end == text) {
      throw value_error(message("KILN_NUM_THREADS: '", text, "' is no number of threads; use 1 to ", most_threads));
    }
    return checked_threads(count, "KILN_NUM_THREADS");
  }
  return std::min(usable_processors(), most_threads);
}

}  // namespace process

KILN_INLINE int num_threads() {
  const int limit = process::thread_limit.load(std::memory_order_relaxed);
  if (limit != 0) return limit;
  int expected = 0;
  const int standard = process::default_threads();
  return process::thread_limit.compare_exchange_strong(expected, standard) ? standard : expected;
}

namespace process {

KILN_INLINE void run_region(std::int64_t count, std::int64_t grain, int threads,
                            void (*call)(void*, std::int64_t, std::int64_t, int), void* body) {
  if (grain < 1) throw value_error(message("parallel_for: a grain of ", grain, "; use 1 or more"));
  thread_team* team = nullptr;
  region* slot = nullptr;
  if (!place.inside) {
    const int limit = num_threads();
    if (threads < 1) threads = limit;
    if (threads > 1 && limit > 1 && (team = thread_team::instance()) != nullptr) slot = team->take_region();
    if (slot != nullptr) team->start(std::min(threads, limit));
  }
  if (slot == nullptr) return call(body, 0, count, 0);
  slot->call = call;
  slot->body = body;
  slot->participants = threads;
  slot->control = float_control();
  slot->divide(count, grain, threads);
  slot->state.store(region::open, std::memory_order_release);
  const thread_place outside = std::exchange(place, {0, true, false, slot});
  team->wake(static_cast<int>(std::min<std::int64_t>(threads - 1, (count - 1) / slot->chunk)), threads);
  slot->run_chunks(0);
  slot->close();
  place = outside;
  std::exception_ptr error;
  if (slot->failed.load(std::memory_order_relaxed)) {
    error = std::exchange(slot->error, nullptr);
    slot->failed.store(false, std::memory_order_relaxed);
  }
  const bool forked = std::exchange(slot->forked, false);
  thread_team::release_region(*slot);
  if (error) std::rethrow_exception(error);
  if (forked) {
    throw kiln::error(
        "parallel_for: this is the child of a fork within it, and the chunks of other threads are not here; let such a "
        "child call exec or _exit");
  }
}

}  // namespace process

[[gnu::cold]] KILN_INLINE void set_num_threads(int count) {
  process::checked_threads(count, "set_num_threads");
  if (process::place.inside) throw value_error("set_num_threads: called inside parallel_for; call it before");
  if (process::thread_limit.exchange(count) == count) return;
  process::thread_team* const team = process::thread_team::instance();
  if (team != nullptr) team->limit_changed();
}

KILN_INLINE int available_threads() {
  return process::place.inside ? 1 : num_threads();
}

KILN_INLINE int thread_index() {
  return process::place.index;
}

}  // namespace kiln::cpu
