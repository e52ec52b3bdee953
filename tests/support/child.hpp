// SPDX-License-Identifier: BSL-1.0
// Runs something in the child of a fork, and tells how it ended.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace kiln::support {

/// Forks, without waiting. The child calls `work` and exits with what it returns, or with 99 if it throws; one that
/// hangs is ended by a signal after a minute.
template <class Work>
pid_t start_child(Work work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(60);
  int code = 99;
  try {
    code = work();
  } catch (...) {
  }
  ::_exit(code);
}

/// What a child exited with, or the negative number of the signal that ended it.
inline int end_of_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1000;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

template <class Work>
int run_in_child(Work work) {
  return end_of_child(start_child(work));
}

}  // namespace kiln::support
