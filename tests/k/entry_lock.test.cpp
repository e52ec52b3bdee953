// SPDX-License-Identifier: BSL-1.0
// Who goes first: calls before steps, steps while a call waits for the thread.
#include <doctest/doctest.h>

#include <atomic>
#include <kiln/k/entry_lock.hpp>

using kiln::k::entry_lock;

TEST_CASE("without a thread that trains nothing is locked") {
  entry_lock lock;
  const entry_lock::call outer(lock);
  CHECK(lock.outermost());
  const entry_lock::call inner(lock);
  CHECK(!lock.outermost());
}

TEST_CASE("a call and a step never run at the same time") {
  entry_lock lock;
  int shared = 0;  // unguarded: what the lock is for
  std::atomic<bool> stop{false}, stepped{false};
  std::thread trainer;
  {
    const entry_lock::call turn(lock);
    lock.trainer_begins();
    trainer = std::thread([&] {
      while (!stop)
        lock.step([&] {
          ++shared;
          --shared;
          stepped = true;
        });
    });
    // The call that began it still has its turn.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(!stepped);
    // Waiting within a call lets the thread go on.
    lock.while_open([&] {
      while (!stepped) std::this_thread::yield();
    });
  }
  for (int i = 0; i < 200; ++i) {
    const entry_lock::call turn(lock);
    const entry_lock::call nested(lock);
    CHECK(shared == 0);
  }
  stop = true;
  {
    const entry_lock::call turn(lock);
    lock.while_open([&] { trainer.join(); });
    lock.trainer_ended();
  }
}
