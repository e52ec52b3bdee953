// SPDX-License-Identifier: BSL-1.0
// parallel_for: what it covers, where it runs, what it throws, and that late or many callers do no harm.
#include <doctest/doctest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <kiln/device/cpu/threads/threads.hpp>

using namespace kiln;

namespace {

struct threads_for_scope {
  int before = cpu::num_threads();
  explicit threads_for_scope(int count) { cpu::set_num_threads(count); }
  ~threads_for_scope() { cpu::set_num_threads(before); }
};

}  // namespace

TEST_CASE("parallel_for: every index is visited once, for all counts, grains and numbers of threads") {
  for (int threads : {1, 2, 3, 7}) {
    const threads_for_scope scope(threads);
    CHECK(cpu::num_threads() == threads);
    for (std::int64_t count : {0, 1, 2, 5, 64, 1000, 4097}) {
      for (std::int64_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
        std::atomic<int> wrong{0};
        cpu::parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
          if (begin >= end || begin % grain != 0 || end > count) ++wrong;
          if (cpu::thread_index() < 0 || cpu::thread_index() >= threads) ++wrong;
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        CHECK(wrong == 0);
        for (const auto& visit : visits) REQUIRE(visit == 1);
      }
    }
  }
}

TEST_CASE("parallel_for: one grain, one thread and a nested call run whole on the caller's thread") {
  const threads_for_scope scope(2);
  const auto self = std::this_thread::get_id();
  int calls = 0;
  cpu::parallel_for(100, 100, [&](std::int64_t begin, std::int64_t end) {
    ++calls;
    CHECK(begin == 0);
    CHECK(end == 100);
    CHECK(std::this_thread::get_id() == self);
  });
  CHECK(calls == 1);
  std::atomic<int> wrong{0}, inner{0};
  cpu::parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    const auto outer_thread = std::this_thread::get_id();
    const int outer_index = cpu::thread_index();
    cpu::parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
      ++inner;
      wrong += begin != 0 || end != 1000 || std::this_thread::get_id() != outer_thread;
      wrong += cpu::thread_index() != outer_index;
    });
  });
  CHECK(wrong == 0);
  CHECK(inner > 0);
  CHECK(cpu::thread_index() == 0);
}

TEST_CASE("parallel_for: chunks do run on several threads, each under an index of its own") {
  const threads_for_scope scope(4);
  std::vector<std::set<std::thread::id>> seen(4);  // one thread writes each entry
  std::atomic<int> started{0};
  cpu::parallel_for(4, 1, [&](std::int64_t, std::int64_t) {
    seen[static_cast<std::size_t>(cpu::thread_index())].insert(std::this_thread::get_id());
    ++started;
    while (started < 4) std::this_thread::yield();  // ends only if four threads come
  });
  std::set<std::thread::id> all;
  for (const auto& ids : seen) {
    CHECK(ids.size() == 1);
    all.insert(ids.begin(), ids.end());
  }
  CHECK(all.size() == 4);
}

TEST_CASE("parallel_for: the first exception reaches the caller, and the pool goes on working") {
  const threads_for_scope scope(3);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> inside{0};
    CHECK_THROWS_WITH_AS(cpu::parallel_for(100, 1,
                                           [&](std::int64_t begin, std::int64_t) {
                                             ++inside;
                                             if (begin >= 30) throw std::runtime_error("thirty");
                                             --inside;
                                           }),
                         "thirty", std::runtime_error);
    std::atomic<std::int64_t> sum{0};
    cpu::parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    CHECK(sum == 100);
  }
  CHECK_THROWS_AS(cpu::parallel_for(10, 1, [](std::int64_t, std::int64_t) { cpu::set_num_threads(1); }), value_error);
}

TEST_CASE("parallel_for: many regions in a row, from many threads at once, are all complete") {
  const threads_for_scope scope(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 12; ++caller) {  // more than there are regions, so some have to run alone
    callers.emplace_back([&wrong] {
      for (int round = 0; round < 300; ++round) {
        std::vector<std::int64_t> values(257, 0);
        cpu::parallel_for(257, 8, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] += i;
        });
        wrong += std::accumulate(values.begin(), values.end(), std::int64_t{0}) != 257 * 256 / 2;
        if (round % 100 == 99) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // lets workers fall asleep
      }
    });
  }
  for (int count : {1, 2, 4, 3}) cpu::set_num_threads(count);  // while the others are at work
  for (auto& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("parallel_for: all threads round as the caller does, whenever that was set") {
  const threads_for_scope scope(4);
  const auto quotients = [] {
    std::vector<float> found(4);
    std::atomic<int> started{0};
    cpu::parallel_for(4, 1, [&](std::int64_t, std::int64_t) {
      ++started;
      while (started < 4) std::this_thread::yield();  // four threads, each with one chunk
      volatile float one = 1, three = 3;
      found[static_cast<std::size_t>(cpu::thread_index())] = one / three;
    });
    return found;
  };
  const float below = 0x1.555554p-2f, above = 0x1.555556p-2f;
  CHECK(quotients() == std::vector<float>(4, above));  // the nearest
  REQUIRE(std::fesetround(FE_DOWNWARD) == 0);
  const auto down = quotients();
  std::fesetround(FE_TONEAREST);
  CHECK(down == std::vector<float>(4, below));
  CHECK(quotients() == std::vector<float>(4, above));
}

TEST_CASE("set_num_threads: numbers that make no sense are errors") {
  CHECK_THROWS_WITH_AS(cpu::set_num_threads(0), "set_num_threads: 0 threads; use a number from 1 to 1024", value_error);
  CHECK_THROWS_AS(cpu::set_num_threads(-3), value_error);
  CHECK_THROWS_AS(cpu::set_num_threads(100000), value_error);
  CHECK_THROWS_AS(cpu::parallel_for(10, 0, [](std::int64_t, std::int64_t) {}), value_error);
}

TEST_CASE("num_threads: the environment's KILN_NUM_THREADS is the default, and nonsense in it is an error") {
  const char* const before = std::getenv("KILN_NUM_THREADS");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("KILN_NUM_THREADS", "5", 1);
  CHECK(cpu::process::default_threads() == 5);
  for (const char* text : {"abc", "0", "-1", "2x", "99999999999999"}) {
    ::setenv("KILN_NUM_THREADS", text, 1);
    CHECK_THROWS_AS(cpu::process::default_threads(), value_error);
  }
  ::unsetenv("KILN_NUM_THREADS");
  CHECK(cpu::process::default_threads() >= 1);
  if (before != nullptr) ::setenv("KILN_NUM_THREADS", kept.c_str(), 1);
}
