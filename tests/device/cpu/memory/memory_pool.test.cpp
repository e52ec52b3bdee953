// SPDX-License-Identifier: BSL-1.0
// What the pool keeps: sizes that drift don't pile up, and less stays where memory is short.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <kiln/device/cpu/memory/memory.hpp>

#include "support/child.hpp"
#include "support/system_files.hpp"
#include "support/sanitized.hpp"

using namespace kiln;

namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;

std::size_t resident() {
  long pages = 0, in_memory = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld %ld", &pages, &in_memory) != 2) in_memory = 0;
  std::fclose(file);
  return static_cast<std::size_t>(in_memory) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct drift_result {
  std::size_t live_most = 0, mapped_most = 0, resident_most = 0, resident_after = 0;
  std::size_t used_before = 0;  // most of what the process had before

  // Half as much again as was ever in use, of which blocks waste up to a quarter, and 64 MiB and the next block.
  std::size_t bound() const { return std::max(live_most * 5 / 4, used_before) * 3 / 2 + 74 * mib; }
};

// `count` blocks, each written whole, of which the last `alive` are there at a time; what they add to what was there.
template <class SizeOf>
drift_result drift(int count, std::size_t alive, SizeOf size_of_block) {
  cpu::empty_cache();
  const auto before = cpu::memory_stats();
  const std::size_t resident_before = resident();
  std::deque<std::pair<void*, std::size_t>> blocks;
  drift_result result;
  result.used_before = before.in_use;
  std::size_t live = 0;
  const auto drop = [&] {
    cpu::deallocate(blocks.front().first, blocks.front().second);
    live -= blocks.front().second;
    blocks.pop_front();
  };
  for (int i = 0; i < count; ++i) {
    const std::size_t bytes = size_of_block(i);
    blocks.emplace_back(cpu::allocate(bytes), bytes);
    std::memset(blocks.back().first, 1, bytes);
    live += bytes;
    result.live_most = std::max(result.live_most, live);
    if (blocks.size() > alive) drop();
    const auto now = cpu::memory_stats();
    result.mapped_most = std::max(result.mapped_most, now.in_use + now.cached - before.in_use - before.cached);
    if (i % 10 == 0) result.resident_most = std::max(result.resident_most, resident() - resident_before);
  }
  while (!blocks.empty()) drop();
  cpu::empty_cache();
  const std::size_t after = resident();
  result.resident_after = after - std::min(after, resident_before);
  return result;
}

constexpr bool plain_memory = !test::sanitized;  // sanitizers have memory of their own beside the program's

}  // namespace

TEST_CASE("pool: a thousand large blocks of drifting sizes hold little more than those alive") {
  const auto growing = drift(1000, 8, [](int i) { return mib + static_cast<std::size_t>(i) * 8 * kib; });
  CHECK(growing.mapped_most <= growing.bound());
  const auto falling = drift(1000, 8, [](int i) { return mib + static_cast<std::size_t>(1000 - i) * 8 * kib; });
  CHECK(falling.mapped_most <= falling.bound());
  const auto mixed =
      drift(1000, 8, [](int i) { return 70 * kib + static_cast<std::size_t>(i) * 7919 % 1000 * 8 * kib; });
  CHECK(mixed.mapped_most <= mixed.bound());
  if (!plain_memory) return;
  for (const auto& result : {growing, falling, mixed}) {
    CAPTURE(result.live_most);
    CHECK(result.resident_most <= result.bound() + 8 * mib);
    CHECK(result.resident_after <= 4 * mib);
  }
}

TEST_CASE("pool: a program that repeats itself finds all its sizes in the end, in little more memory than it uses") {
  cpu::empty_cache();
  const auto before = cpu::memory_stats();
  std::size_t most = 0;
  std::uint64_t requests = 0;
  for (int round = 0; round < 12; ++round) {
    requests = cpu::memory_stats().system_requests;
    std::mt19937 random(5);
    std::vector<std::pair<void*, std::size_t>> kept;
    const auto get = [&] {
      const std::size_t bytes = (std::size_t{1} << (16 + random() % 8)) + random() % (std::size_t{1} << 16);
      most = std::max(most, cpu::memory_stats().in_use + bytes - before.in_use);
      return std::pair{cpu::allocate(bytes), bytes};
    };
    const auto put = [](const auto& block) { cpu::deallocate(block.first, block.second); };
    for (int i = 0; i < 120; ++i) {  // as a pass forward keeps values, and one back frees them, each with temporaries
      const auto first = get(), second = get();
      if (i < 60) kept.push_back(get());
      put(first);
      if (i >= 60) {
        put(kept.back());
        kept.pop_back();
      }
      put(second);
    }
  }
  const auto after = cpu::memory_stats();
  CHECK(after.system_requests == requests);
  CHECK(after.in_use + after.cached - before.in_use <= std::max(most, before.peak) * 3 / 2 + 80 * mib);
  cpu::empty_cache();
}

TEST_CASE("pool: nor do small blocks of drifting sizes pile up") {
  const auto growing = drift(30000, 1000, [](int i) { return 100 + static_cast<std::size_t>(i) * 2; });
  CHECK(growing.mapped_most <= growing.live_most * 5 / 4 + 8 * mib);
  if (!plain_memory) return;
  CHECK(growing.resident_most <= growing.live_most * 3 / 2 + 8 * mib);
  CHECK(growing.resident_after <= 4 * mib);
}

TEST_CASE("pool: its bound is a quarter of what the machine and the control groups allow") {
  CHECK(support::run_in_child([] {  // which alone has these limits
          const support::system_files files;
          files.write("/proc/meminfo", "MemTotal:        1048576 kB\nMemAvailable:     1048576 kB\n");
          auto& pool = cpu::process::pool();
          pool.set_root(files.root());
          if (cpu::memory_stats().limit != 256 * mib) return 1;
          files.write("/proc/self/cgroup", "0::/job\n");
          files.write("/sys/fs/cgroup/job/memory.max", "419430400\n");
          pool.set_root(files.root());
          if (cpu::memory_stats().limit != 100 * mib) return 2;
          return 42;
        }) == 42);
}

TEST_CASE("pool: gives back what it keeps before memory runs out, and only what is short") {
  CHECK(support::run_in_child([] {
          const support::system_files files;
          files.write("/proc/meminfo", "MemTotal:        8388608 kB\nMemAvailable:     8388608 kB\n");
          files.write("/proc/self/cgroup", "0::/job\n");
          files.write("/sys/fs/cgroup/job/memory.max", "1073741824\n");
          files.write("/sys/fs/cgroup/job/memory.current", "104857600\n");
          cpu::empty_cache();
          auto& pool = cpu::process::pool();
          pool.set_root(files.root());
          for (int round = 0; round < 2; ++round) {
            std::vector<void*> blocks;
            for (int i = 0; i < 10; ++i) blocks.push_back(cpu::allocate(16 * mib));
            for (void* block : blocks) cpu::deallocate(block, 16 * mib);
            if (cpu::memory_stats().cached < 160 * mib) return 1;  // there is plenty
          }
          files.write("/sys/fs/cgroup/job/memory.current", "1020054732\n");  // less than 64 MiB is left
          void* const more = cpu::allocate(40 * mib);                        // what is kept has none of that size
          if (cpu::memory_stats().cached > 112 * mib) return 2;
          if (cpu::memory_stats().cached < 32 * mib) return 3;
          files.write("/sys/fs/cgroup/job/memory.current", "1073741824\n");
          void* const most = cpu::allocate(80 * mib);
          if (cpu::memory_stats().cached > 16 * mib) return 4;
          cpu::deallocate(more, 40 * mib);
          cpu::deallocate(most, 80 * mib);
          return 42;
        }) == 42);
}

TEST_CASE("pool: what was freed on other threads of the parent is there in the child of a fork") {
  cpu::empty_cache();
  CHECK(support::run_in_child([] {
          const auto before = cpu::memory_stats();
          if (before.cached > mib) return 1;
          void* const block = cpu::allocate(3 * mib);
          cpu::deallocate(block, 3 * mib);
          if (cpu::memory_stats().in_use != before.in_use) return 2;
          cpu::empty_cache();
          return cpu::memory_stats().cached == 0 ? 42 : 3;
        }) == 42);
}

TEST_CASE("pool: empty_cache forgets what was in use, so that a later part of a program holds no more than it needs") {
  CHECK(support::run_in_child([] {
          cpu::set_cache_limit(std::size_t{1} << 40);
          void* const vast = cpu::allocate(2048 * mib);
          cpu::deallocate(vast, 2048 * mib);
          cpu::empty_cache();
          std::deque<std::pair<void*, std::size_t>> blocks;
          std::size_t most = 0;
          for (std::size_t i = 0; i < 400; ++i) {  // 16 of them are there at a time, up to 136 MiB
            const std::size_t bytes = 2 * mib + i * 16 * kib;
            blocks.emplace_back(cpu::allocate(bytes), bytes);
            most = std::max(most, cpu::memory_stats().in_use + cpu::memory_stats().cached);
            if (blocks.size() < 16) continue;
            cpu::deallocate(blocks.front().first, blocks.front().second);
            blocks.pop_front();
          }
          std::printf("held %zu MiB\n", most / mib);
          return most < 330 * mib ? 0 : 1;
        }) == 0);
}
