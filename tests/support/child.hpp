// SPDX-License-Identifier: BSL-1.0
// Runs something in the child of a fork, and tells how it ended.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace kiln::support {

/// Forks, without waiting. The child calls `work` and exits with what it returns, or with 99 if it throws; one that
/// hangs is ended by a signal, in time for a machine that does much else.
template <class Work>
pid_t start_child(Work work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(240);
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

/// Waits until the other threads of this process sleep, for some 50 ms on end, and says whether they do within ten
/// seconds. AddressSanitizer's allocator, unlike the system's, is found locked in a child that is forked while another
/// thread is in it.
inline bool others_sleep() {
  const auto sleeps = [](const std::filesystem::path& thread) {
    std::ifstream file(thread / "stat");
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = all.rfind(')');  // "number (name) state ...", and a name may hold anything
    return name_end == std::string::npos || all.substr(name_end, 3) == ") S";  // a thread may have ended
  };
  const std::string self = std::to_string(::gettid());
  int quiet = 0;
  for (int i = 0; i < 1000 && quiet < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ++quiet;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      if (thread.path().filename() != self && !sleeps(thread.path())) quiet = 0;
    }
  }
  return quiet == 5;
}

template <class Work>
int run_in_child(Work work) {
  return end_of_child(start_child(work));
}

}  // namespace kiln::support
