// SPDX-License-Identifier: BSL-1.0
// The team of threads among forks, signals, changes of its size, and systems that give no more threads or memory.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/device/cpu/memory/memory.hpp>
#include <kiln/device/cpu/products/gemm_blocks.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

#include "support/child.hpp"
#include "support/sanitized.hpp"

using namespace kiln;

namespace {

struct threads_for_scope {
  int before = cpu::num_threads();
  explicit threads_for_scope(int count) { cpu::set_num_threads(count); }
  ~threads_for_scope() { cpu::set_num_threads(before); }
};

std::int64_t sum_below(std::int64_t count) {
  std::atomic<std::int64_t> sum{0};
  cpu::parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t mine = 0;
    for (std::int64_t i = begin; i < end; ++i) mine += i;
    sum += mine;
  });
  return sum;
}
bool sums_are_right(std::int64_t count) {
  return sum_below(count) == count * (count - 1) / 2;
}

// What a child does: everything that could wait for a thread or a lock that stayed in the parent.
[[maybe_unused]] int use_all() {
  if (!sums_are_right(5000)) return 1;
  cpu::set_num_threads(cpu::num_threads() + 1);
  if (!sums_are_right(6000)) return 2;
  cpu::set_num_threads(2);
  if (!sums_are_right(7000)) return 3;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{50000}, std::size_t{3000000}}) {
    cpu::deallocate(cpu::allocate(bytes), bytes);
  }
  cpu::memory_stats();
  cpu::empty_cache();
  default_generator().take(1);
  int seen = 0;
  std::thread([&] { seen = sums_are_right(8000) ? 42 : 4; }).join();
  return seen;
}

// Keeps the team, the pool and the generator busy until it goes out of scope.
class busy_threads {
 public:
  explicit busy_threads(int count) {
    for (int t = 0; t < count; ++t) {
      threads_.emplace_back([this] {
        while (!stop_) {
          wrong_ += !sums_are_right(3000);
          ++rounds_;
          for (int i = 0; i < 20; ++i) {
            void* const small = cpu::allocate(60000);
            void* const large = cpu::allocate(200000);
            cpu::deallocate(large, 200000);
            cpu::deallocate(small, 60000);
            default_generator().take(1);
          }
        }
      });
    }
  }
  // The sanitizer of g++ 12 does not take care of its own locks in a fork: no thread may just start or end then.
  void settle() const {
    while (rounds_ < 1000) std::this_thread::yield();
  }
  ~busy_threads() {
    stop_ = true;
    for (auto& thread : threads_) thread.join();
    CHECK(wrong_ == 0);
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> wrong_{0}, rounds_{0};
  std::vector<std::thread> threads_;
};

}  // namespace

#if !KILN_TEST_THREAD_SANITIZER  // which ends a child that starts threads
TEST_CASE("fork: children of a program whose other threads compute and allocate do all of it themselves") {
  const threads_for_scope scope(3);
  const busy_threads busy(2);
  if (test::sanitized) busy.settle();
  for (int round = 0; round < 10; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 5; ++i) children.push_back(support::start_child(use_all));
    for (const pid_t child : children) CHECK(support::end_of_child(child) == 42);
  }
}

TEST_CASE("fork: from a thread of the team, and from the caller of a region") {
  const threads_for_scope scope(3);
  std::atomic<pid_t> of_caller{0}, of_worker{0};
  std::atomic<int> started{0};
  cpu::parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
    ++started;
    while (started < 3) std::this_thread::yield();  // so each thread has one
    if (cpu::thread_index() == 0) of_caller = support::start_child([] { return sums_are_right(5000) ? 42 : 1; });
    if (cpu::thread_index() == 1) of_worker = support::start_child(use_all);
  });
  CHECK(support::end_of_child(of_caller) == 42);  // still inside: alone
  CHECK(support::end_of_child(of_worker) == 42);  // there is no region any more: with threads of its own
  CHECK(sums_are_right(1000));
}

TEST_CASE("fork: a child that leaves the region it was forked in is told that its chunks are lost, and goes on") {
  const threads_for_scope scope(3);
  CHECK(support::run_in_child([] {
          std::atomic<int> started{0};
          std::atomic<bool> forked{false};
          pid_t child = -1;
          try {
            cpu::parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
              ++started;
              while (started < 3) std::this_thread::yield();
              if (cpu::thread_index() == 0) {
                child = ::fork();
                forked = true;
              }
              while (!forked) std::this_thread::yield();  // at work while the fork happens
            });
          } catch (const error&) {
            return child == 0 ? use_all() : 5;
          }
          return child > 0 ? support::end_of_child(child) : 6;
        }) == 42);
}

TEST_CASE("fork: children of children") {
  const threads_for_scope scope(2);
  CHECK(sums_are_right(1000));
  CHECK(support::run_in_child([] {
          if (!sums_are_right(1000)) return 1;
          const int inner = support::run_in_child(use_all);
          return inner == 42 ? use_all() : inner;
        }) == 42);
}
#endif

TEST_CASE("signals: those sent to the program reach its own threads, not those of the team") {
  CHECK(support::run_in_child([] {
          cpu::set_num_threads(4);
          std::atomic<int> started{0}, wrong{0};
          cpu::parallel_for(4, 1, [&](std::int64_t, std::int64_t) {
            ++started;
            while (started < 4) std::this_thread::yield();
            sigset_t blocked;
            ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
            const bool worker = cpu::thread_index() != 0;
            for (const int number : {SIGUSR1, SIGTERM, SIGALRM, SIGINT}) {
              wrong += (sigismember(&blocked, number) == 1) != worker;
            }
            wrong += sigismember(&blocked, SIGSEGV) == 1;  // a handler for what a thread does itself works everywhere
          });
          if (wrong != 0) return 1;
          sigset_t expected;  // blocked in this thread from now on: in another one it would end the program
          sigemptyset(&expected);
          sigaddset(&expected, SIGUSR1);
          ::pthread_sigmask(SIG_BLOCK, &expected, nullptr);
          for (int i = 0; i < 100; ++i) {
            ::kill(::getpid(), SIGUSR1);
            int received = 0;
            if (::sigwait(&expected, &received) != 0 || received != SIGUSR1) return 2;
          }
          return 42;
        }) == 42);
}

TEST_CASE("set_num_threads: while other threads are inside regions and products, which stay whole") {
  const threads_for_scope scope(3);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 2; ++caller) {
    callers.emplace_back([&] {
      // 70 x 70 x 2000 is cut along the product, so it is several regions that share one piece of memory.
      const std::int64_t m = 70, k = 2000;
      const std::vector<float> ones(static_cast<std::size_t>(m * k), 1.0F);
      std::vector<float> result(static_cast<std::size_t>(m * m));
      while (!stop) {
        const cpu::detail::gemm_problem<float> product{m, m, k,     ones.data(), k, 1, ones.data(), 1, k, result.data(),
                                                       m, 1, false, {}};
        cpu::detail::gemm_blocks<float>(product).run();
        for (const float value : result) wrong += value != static_cast<float>(k);
        const int slots = cpu::available_threads();
        std::vector<std::int64_t> sums(static_cast<std::size_t>(slots), 0);
        cpu::parallel_for(4000, 4, slots, [&](std::int64_t begin, std::int64_t end, int slot) {
          wrong += slot < 0 || slot >= slots;
          for (std::int64_t i = begin; i < end; ++i) sums[static_cast<std::size_t>(slot)] += i;
        });
        std::int64_t total = 0;
        for (const std::int64_t sum : sums) total += sum;
        wrong += total != 4000 * 3999 / 2;
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
  while (std::chrono::steady_clock::now() < end) {
    for (const int count : {1, 7, 2, 12, 3}) {
      cpu::set_num_threads(count);
      CHECK(cpu::num_threads() == count);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  }
  stop = true;
  for (auto& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("set_num_threads: does not wait for a region that runs") {
  const threads_for_scope scope(2);
  std::atomic<bool> inside{false}, changed{false};
  std::thread caller([&] {
    cpu::parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
      inside = true;
      while (!changed) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  cpu::set_num_threads(5);
  changed = true;
  caller.join();
  CHECK(cpu::num_threads() == 5);
}

TEST_CASE("set_num_threads: threads above a lower limit end") {
  const auto threads_now = [] {
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    char line[256];
    int count = -1;
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
      if (std::sscanf(line, "Threads: %d", &count) == 1) break;
    }
    if (file != nullptr) std::fclose(file);
    return count;
  };
  const threads_for_scope scope(9);
  CHECK(sums_are_right(5000));
  CHECK(threads_now() >= 9);
  const int most = threads_now() - 7;  // the sanitizer has one of its own
  cpu::set_num_threads(2);
  for (int i = 0; i < 60000 && threads_now() > most; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(threads_now() <= most);
  CHECK(sums_are_right(5000));
}

#if !KILN_TEST_ADDRESS_SANITIZER && !KILN_TEST_THREAD_SANITIZER
// The sanitizers need address space themselves.
TEST_CASE("threads: without further threads, and without any memory, regions go on with those there are") {
  const threads_for_scope scope(3);
  CHECK(sums_are_right(1000));
  CHECK(support::run_in_child([] {
          cpu::set_num_threads(2);
          if (!sums_are_right(1000)) return 1;
          long pages = 0;
          std::FILE* const file = std::fopen("/proc/self/statm", "r");
          if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) return 2;
          std::fclose(file);
          const rlim_t bytes = static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
          const rlimit limit{bytes + (1 << 20), bytes + (1 << 20)};  // less than a thread's stack
          if (::setrlimit(RLIMIT_AS, &limit) != 0) return 3;
          cpu::set_num_threads(50);
          std::atomic<int> highest{0};
          for (int round = 0; round < 20; ++round) {
            std::atomic<int> visited{0};
            cpu::parallel_for(500, 1, [&](std::int64_t begin, std::int64_t end) {
              visited += static_cast<int>(end - begin);
              int seen = highest;
              while (seen < cpu::thread_index() && !highest.compare_exchange_weak(seen, cpu::thread_index())) {
              }
            });
            if (visited != 500) return 4;
          }
          if (highest >= 49) return 5;  // all threads came: the limit was none
          cpu::set_num_threads(2);
          if (!sums_are_right(1000)) return 6;
          return 42;
        }) == 42);
  CHECK(support::run_in_child([] {  // with no team yet: there is no memory to make one
          const rlimit limit{1 << 20, 1 << 20};
          if (::setrlimit(RLIMIT_AS, &limit) != 0) return 3;
          for (std::size_t bytes = std::size_t{1} << 20; bytes >= 16;) {
            void* volatile taken = std::malloc(bytes);  // a compiler may leave out what nobody looks at
            if (taken == nullptr) bytes /= 2;
          }
          if (!sums_are_right(1000)) return 4;
          cpu::set_num_threads(5);
          if (!sums_are_right(2000)) return 5;
          return 42;
        }) == 42);
}
#endif
