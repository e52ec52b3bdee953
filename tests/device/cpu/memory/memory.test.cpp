// SPDX-License-Identifier: BSL-1.0
// The pool: what it hands out, that it reuses, who may free, and what happens at its limits.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <kiln/device/cpu/memory/memory.hpp>

#include "support/sanitized.hpp"

using namespace kiln;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

struct block {
  unsigned char* data;
  std::size_t bytes;
  unsigned char mark;
};

block make(std::size_t bytes, unsigned char mark) {
  auto* data = static_cast<unsigned char*>(cpu::allocate(bytes));
  std::memset(data, mark, bytes);
  return {data, bytes, mark};
}
bool intact(const block& b) {
  for (std::size_t i = 0; i < b.bytes; i += 1 + b.bytes / 64) {
    if (b.data[i] != b.mark) return false;
  }
  return b.bytes == 0 || b.data[b.bytes - 1] == b.mark;
}

// A static object that frees its memory after the caches of the main thread are gone.
struct late_free {
  void* data = cpu::allocate(1000);
  void* large = cpu::allocate(mib);
  ~late_free() {
    cpu::deallocate(data, 1000);
    cpu::deallocate(large, mib);
    cpu::deallocate(cpu::allocate(77), 77);
  }
};
const late_free freed_at_exit;

}  // namespace

TEST_CASE("memory: size classes cover every size and waste at most a quarter, of large blocks less") {
  std::size_t before = 0;
  for (std::size_t index = 0; index < cpu::process::class_count; ++index) {
    const std::size_t size = cpu::process::class_size(index);
    CHECK(size > before);
    CHECK(size % 64 == 0);
    CHECK(cpu::process::class_of(size) == index);
    CHECK(cpu::process::class_of(before + 1) == index);
    if (size > 256) CHECK(4 * (size - (before + 1)) <= before + 1);
    if (size > 256 * 1024) CHECK((size > 2 * mib ? 8 : 16) * (size - (before + 1)) <= before + 1);
    if (size > cpu::process::largest_small) CHECK(size % (16 * 1024) == 0);
    before = size;
  }
  for (std::size_t power = 64; power < cpu::process::largest_block; power *= 2)
    CHECK(cpu::process::class_size(cpu::process::class_of(power)) == power);
}

TEST_CASE("memory: blocks are aligned, distinct and keep what is written, from zero bytes to many") {
  std::vector<block> blocks;
  unsigned char mark = 0;
  for (std::size_t bytes : {0u, 0u, 1u, 63u, 64u, 65u, 255u, 257u, 4096u, 65536u, 65537u, 300000u, 3000000u}) {
    blocks.push_back(make(bytes, ++mark));
    CHECK(reinterpret_cast<std::uintptr_t>(blocks.back().data) % 64 == 0);
  }
  CHECK(blocks[0].data != blocks[1].data);
  CHECK(reinterpret_cast<std::uintptr_t>(blocks.back().data) % (2 * mib) == 0);
  for (const block& b : blocks) CHECK(intact(b));
  for (const block& b : blocks) cpu::deallocate(b.data, b.bytes);
  cpu::deallocate(nullptr, 10);
}

TEST_CASE("memory: a freed block is the next one handed out for its size") {
  for (std::size_t bytes : {std::size_t{100}, std::size_t{5000}, 4 * mib}) {
    void* first = cpu::allocate(bytes);
    cpu::deallocate(first, bytes);
    const auto before = cpu::memory_stats();
    void* second = cpu::allocate(bytes);
    const auto after = cpu::memory_stats();
    CHECK(second == first);
    CHECK(after.system_requests == before.system_requests);
    CHECK(after.allocations == before.allocations + 1);
    CHECK(after.in_use >= before.in_use + bytes);
    CHECK(after.in_use + after.cached == before.in_use + before.cached);
    cpu::deallocate(second, bytes);
    CHECK(cpu::memory_stats().in_use == before.in_use);
  }
}

TEST_CASE("memory: random allocation and release never overlaps and is all given back") {
  std::mt19937 random(7);
  std::vector<block> live;
  const auto before = cpu::memory_stats().in_use;
  for (int step = 0; step < 20000; ++step) {
    if (live.size() < 50 || random() % 2 == 0) {
      const std::size_t bytes = random() % (std::size_t{1} << (random() % 18));
      live.push_back(make(bytes, static_cast<unsigned char>(random())));
    } else {
      std::swap(live[random() % live.size()], live.back());
      REQUIRE(intact(live.back()));
      cpu::deallocate(live.back().data, live.back().bytes);
      live.pop_back();
    }
  }
  for (const block& b : live) {
    REQUIRE(intact(b));
    cpu::deallocate(b.data, b.bytes);
  }
  CHECK(cpu::memory_stats().in_use == before);
}

TEST_CASE("memory: blocks may be freed on another thread, and a thread returns its cache when it ends") {
  const auto before = cpu::memory_stats();
  std::vector<block> passed;
  for (int round = 0; round < 3; ++round) {
    std::thread([&] {
      for (const block& b : passed) {
        CHECK(intact(b));
        cpu::deallocate(b.data, b.bytes);
      }
      passed.clear();
      for (std::size_t i = 0; i < 200; ++i) passed.push_back(make(i * 40, static_cast<unsigned char>(i)));
    }).join();
  }
  for (const block& b : passed) cpu::deallocate(b.data, b.bytes);
  const auto after = cpu::memory_stats();
  CHECK(after.in_use == before.in_use);
  CHECK(after.allocations == before.allocations + 600);
  cpu::empty_cache();
  CHECK(cpu::memory_stats().cached == 0);  // nothing is left with a thread that has ended
}

TEST_CASE("memory: threads at work together get blocks of their own") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&wrong, seed] {
      std::mt19937 random(seed);
      std::vector<block> live;
      for (int step = 0; step < 4000; ++step) {
        live.push_back(make(random() % 3000 * (random() % 100 == 0 ? 100 : 1), static_cast<unsigned char>(random())));
        if (live.size() > 40) {
          std::swap(live[random() % live.size()], live.back());
          wrong += !intact(live.back());
          cpu::deallocate(live.back().data, live.back().bytes);
          live.pop_back();
        }
      }
      for (const block& b : live) cpu::deallocate(b.data, b.bytes);
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("memory: the cache stays within its limit and can be emptied") {
  const std::size_t limit = cpu::memory_stats().limit;
  CHECK(limit > 0);
  cpu::empty_cache();
  cpu::set_cache_limit(8 * mib);
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(cpu::allocate(mib));
  for (void* b : blocks) cpu::deallocate(b, mib);
  CHECK(cpu::memory_stats().cached <= 8 * mib);
  CHECK(cpu::memory_stats().cached > 0);
  cpu::deallocate(cpu::allocate(16 * mib), 16 * mib);  // more than the limit: not kept
  CHECK(cpu::memory_stats().cached <= 8 * mib);
  cpu::set_cache_limit(0);
  CHECK(cpu::memory_stats().cached == 0);
  cpu::set_cache_limit(limit);
  cpu::deallocate(cpu::allocate(mib), mib);
  CHECK(cpu::memory_stats().cached >= mib);
  cpu::empty_cache();
  CHECK(cpu::memory_stats().cached == 0);
  CHECK(cpu::memory_stats().peak >= 20 * mib);
}

TEST_CASE("memory: what the system cannot give is an error that names the bytes") {
  CHECK_THROWS_WITH_AS(cpu::allocate(std::numeric_limits<std::size_t>::max()),
                       "allocate: 18446744073709551615 bytes are more than any machine has; use smaller tensors",
                       memory_error);
  if constexpr (!cpu::process::address_sanitizer) {  // the sanitizer ends the program at such a request
    CHECK_THROWS_AS(cpu::allocate(std::size_t{1} << 60), memory_error);
    void* after = cpu::allocate(100);
    CHECK(after != nullptr);
    cpu::deallocate(after, 100);
  }
}

TEST_CASE("memory: fresh blocks can be filled with a byte, so that unwritten values show") {
  cpu::set_memory_fill(255);
  auto* data = static_cast<unsigned char*>(cpu::allocate(100));
  CHECK(data[0] == 255);
  CHECK(data[99] == 255);
  cpu::deallocate(data, 100);
  cpu::set_memory_fill(-1);
  CHECK_THROWS_AS(cpu::set_memory_fill(256), value_error);
}

#if KILN_TEST_ADDRESS_SANITIZER
extern "C" int __asan_address_is_poisoned(void const volatile*);
TEST_CASE("memory: the address sanitizer sees a freed block and the end of a live one") {
  for (std::size_t bytes : {std::size_t{100}, std::size_t{70000}}) {
    auto* data = static_cast<char*>(cpu::allocate(bytes));
    CHECK(!__asan_address_is_poisoned(data + bytes - 1));
    CHECK(__asan_address_is_poisoned(data + bytes + 4));
    cpu::deallocate(data, bytes);
    CHECK(__asan_address_is_poisoned(data));
  }
}
#endif
