// SPDX-License-Identifier: BSL-1.0
// Takes one core away for the length of a scope, as another program on the machine would: a child process that spins.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace peers {

class busy_core {
 public:
  busy_core() : child_(fork()) {
    if (child_ < 0) throw std::runtime_error("busy_core: cannot start the process that takes the core");
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // goes when the benchmark goes, however that ends
      for (std::atomic<unsigned> spin{0};;) spin.fetch_add(1, std::memory_order_relaxed);
    }
  }
  busy_core(const busy_core&) = delete;
  busy_core& operator=(const busy_core&) = delete;
  ~busy_core() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

}  // namespace peers
