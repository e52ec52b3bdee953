// SPDX-License-Identifier: BSL-1.0
// The lock: one thread at a time, sleepers wake up, and the child of a fork finds it free.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include <kiln/core/lock.hpp>

using kiln::detail::locked;
using kiln::detail::short_lock;

TEST_CASE("lock: threads that count under it lose nothing") {
  short_lock lock;
  long count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const locked hold(lock);
        ++count;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(count == 80000);
}

TEST_CASE("lock: who waits long enough to sleep gets it in the end") {
  short_lock lock;
  bool ready = false;
  lock.lock();
  std::thread waiting([&] {
    const locked hold(lock);
    CHECK(ready);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ready = true;
  lock.unlock();
  waiting.join();
}

TEST_CASE("lock: the child of a fork finds it free, and what it takes itself held") {
  short_lock lock;
  lock.lock();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a child that hangs ends by a signal
    lock.lock();  // held by the parent
    std::thread other([&] { const locked hold(lock); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    lock.unlock();
    other.join();
    ::_exit(7);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  lock.unlock();
}
