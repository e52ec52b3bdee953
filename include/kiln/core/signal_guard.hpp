// SPDX-License-Identifier: BSL-1.0
// While threads are started: signals of the program are for its own threads, and a thread inherits who blocks them.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace kiln::detail {

/// Blocks signals for the calling thread while it lives, so that threads which are started meanwhile block them for
/// good: handlers and calls of sigwait expect them on the program's own threads. Signals that a thread raises by what
/// it does itself, such as SIGSEGV, are never blocked.
class signal_guard {
 public:
  signal_guard() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) ::sigdelset(&all, raised);
    blocked_ = ::pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
  }
  ~signal_guard() {
    if (blocked_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  signal_guard(const signal_guard&) = delete;
  signal_guard& operator=(const signal_guard&) = delete;

  bool blocked() const noexcept { return blocked_; }

 private:
  sigset_t before_;
  bool blocked_;
};

}  // namespace kiln::detail
