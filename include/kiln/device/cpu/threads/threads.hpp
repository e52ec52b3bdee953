// SPDX-License-Identifier: BSL-1.0
// The threads of the CPU device: parallel_for, how many threads it may use, and which one a chunk runs on.
// What a user's file needs of them; thread_team.hpp is how it is done.
#pragma once

#include <cstdint>
#include <type_traits>

#include <kiln/core/version.hpp>

namespace kiln::cpu {

/// How many threads parallel_for may use, the caller's own included: what set_num_threads said, else the environment's
/// KILN_NUM_THREADS, else one for each processor that the system lets this process use: those of its affinity, and no
/// more than its control groups' quotas of processor time. Throws value_error if KILN_NUM_THREADS is not a number from
/// 1 to 1024.
int num_threads();

/// Sets how many threads parallel_for may use, from 1 to 1024, at any time: what is under way goes on with the threads
/// that it started with, and threads that are not needed any more end once they are idle.
/// Throws value_error for another number, or when called from inside parallel_for.
void set_num_threads(int count);

/// How many threads a parallel_for that is started here may use: 1 inside of another one, else num_threads().
int available_threads();

/// Which thread of its region runs the present chunk: 0 for the caller of parallel_for (and outside of it).
int thread_index();

namespace process {

/// What parallel_for does with more than one grain of work. With `threads` = 0 as many as there may be.
void run_region(std::int64_t count, std::int64_t grain, int threads,
                void (*call)(void*, std::int64_t, std::int64_t, int), void* body);

// Not inline, so that a body is compiled once and not for one thread apart from several.
template <class Body>
[[gnu::noinline]] void call_body(void* object, std::int64_t begin, std::int64_t end, int slot) {
  Body& body = *static_cast<Body*>(object);
  if constexpr (requires { body(begin, end, slot); })
    body(begin, end, slot);
  else
    body(begin, end);
}

}  // namespace process

/// Calls `body(begin, end)` on disjoint ranges that cover [0, count), on several threads if there is more than one
/// grain of work. Every `begin` is a multiple of `grain`. Runs as body(0, count) on the caller's thread for one grain,
/// for one thread, and inside another parallel_for. All threads round as the caller's does (fesetround). The first
/// exception of a body is thrown on to the caller once all chunks under way have ended; the remaining ones don't start.
///
/// With `threads`, at most so many take part, whatever set_num_threads says meanwhile, and `body(begin, end, slot)` is
/// told which: `slot` is from 0 to threads - 1 and belongs to one thread as long as the region runs. So memory for each
/// thread is made for a number that was asked for once, available_threads().
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, int threads, Body&& body) {
  if (count <= 0) return;
  using Plain = std::remove_cv_t<std::remove_reference_t<Body>>;
  void* const object = const_cast<Plain*>(&body);
  if (count <= grain)
    process::call_body<Plain>(object, 0, count, 0);
  else
    process::run_region(count, grain, threads, &process::call_body<Plain>, object);
}
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  parallel_for(count, grain, 0, body);
}

}  // namespace kiln::cpu

namespace kiln {
using cpu::num_threads;
using cpu::set_num_threads;
}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/device/cpu/threads/threads_impl.hpp>
#endif
