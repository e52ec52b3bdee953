// SPDX-License-Identifier: BSL-1.0
// Signals are blocked within the guard, also when it is left by an exception, and as they were after it.
#include <kiln/core/signal_guard.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

using kiln::detail::signal_guard;

namespace {
bool blocks(int signal) {
  sigset_t now;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return ::sigismember(&now, signal) == 1;
}
}  // namespace

TEST_CASE("signal_guard: threads started within it block signals, who started them no longer does") {
  sigset_t one, before;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &one, &before);
  bool thread_blocks = false, thread_blocks_own = true;
  try {
    const signal_guard quiet;
    CHECK(quiet.blocked());
    CHECK((blocks(SIGINT) && blocks(SIGTERM) && blocks(SIGUSR1) && !blocks(SIGSEGV)));
    std::thread([&] {
      thread_blocks = blocks(SIGINT) && blocks(SIGTERM);
      thread_blocks_own = blocks(SIGFPE);
    }).join();
    throw std::runtime_error("in its midst");
  } catch (const std::runtime_error&) {
  }
  CHECK(thread_blocks);
  CHECK_FALSE(thread_blocks_own);
  CHECK((!blocks(SIGINT) && !blocks(SIGTERM) && blocks(SIGUSR2)));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}
