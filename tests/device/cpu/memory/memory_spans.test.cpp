// SPDX-License-Identifier: BSL-1.0
// Spans: blocks never overlap whatever is split and merged, one size becomes another, and pages go back.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <kiln/device/cpu/memory/memory_spans.hpp>

using namespace kiln::cpu::process;

namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;

// As the pool does it: wet, else dry, else mapped.
char* get(span_heap& heap, std::size_t size) {
  if (char* block = heap.take(size, span::wet)) return block;
  if (char* block = heap.take(size, span::dry)) return block;
  return heap.map(size) ? heap.take(size, span::dry) : nullptr;
}

}  // namespace

TEST_CASE("spans: a block given back serves smaller ones, and they a large one again") {
  span_heap heap;
  char* const large = get(heap, 8 * mib);
  REQUIRE(large != nullptr);
  CHECK(heap.take(2 * mib, span::wet) == nullptr);
  heap.put(large);
  std::vector<char*> small;
  for (int i = 0; i < 4; ++i) small.push_back(heap.take(2 * mib, span::wet));
  for (char* block : small) {
    REQUIRE(block != nullptr);
    CHECK(block >= large);
    CHECK(block < large + 8 * mib);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % (2 * mib) == 0);
  }
  CHECK(heap.take(2 * mib, span::wet) == nullptr);
  for (const int i : {1, 3, 0, 2}) heap.put(small[static_cast<std::size_t>(i)]);
  CHECK(heap.take(8 * mib, span::wet) == large);
  heap.put(large);
  CHECK(heap.give_back(mib) == 8 * mib);  // the span whole
  CHECK(heap.take(80 * kib, span::wet) == nullptr);
  CHECK(heap.give_back(mib) == 0);
}

TEST_CASE("spans: blocks below 2 MiB leave large free spans whole") {
  span_heap heap;
  char* const large = get(heap, 64 * mib);
  heap.put(large);
  char* const small = get(heap, 80 * kib);
  CHECK((small < large || small >= large + 64 * mib));
  CHECK(heap.take(64 * mib, span::wet) == large);
  heap.put(large);
  heap.put(small);
  CHECK(heap.give_back(largest_block) == 64 * mib + 80 * kib);
}

TEST_CASE("spans: what the middle of a mapping gave back can be used again, with pages of zeros") {
  span_heap heap;
  char* const whole = get(heap, 8 * mib);
  heap.put(whole);
  char *const first = heap.take(4 * mib, span::wet), *const second = heap.take(4 * mib, span::wet);
  std::memset(first, 1, 4 * mib);
  std::memset(second, 2, 4 * mib);
  heap.put(first);
  CHECK(heap.give_back(largest_block) == 4 * mib);
  CHECK(heap.take(4 * mib, span::wet) == nullptr);
  char* const again = heap.take(4 * mib, span::dry);
  CHECK(again == first);
  if (!address_sanitizer) CHECK(again[12345] == 0);
  CHECK(second[12345] == 2);
  heap.put(again);
  heap.put(second);
  CHECK(heap.take(8 * mib, span::wet) == whole);
  heap.put(whole);
  CHECK(heap.give_back(largest_block) == 8 * mib);
}

TEST_CASE("spans: random sizes, splits, merges and returns keep every block apart and count every byte") {
  std::mt19937 random(3);
  span_heap heap;
  std::map<char*, std::size_t> live;
  std::size_t free_bytes = 0;
  for (int step = 0; step < 6000; ++step) {
    if (random() % 100 == 0) {
      const std::size_t wanted = random() % (8 * mib), given = heap.give_back(wanted);
      CHECK((given >= wanted || given == free_bytes));
      free_bytes -= given;
    } else if (live.size() < 20 || (live.size() < 300 && random() % 2 == 0)) {
      const std::size_t size = class_size(class_of(80 * kib + random() % (std::size_t{1} << (17 + random() % 6))));
      char* block = heap.take(size, span::wet);
      if (block != nullptr)
        free_bytes -= size;
      else
        block = get(heap, size);
      REQUIRE(block != nullptr);
      if (size >= huge_page) REQUIRE(reinterpret_cast<std::uintptr_t>(block) % huge_page == 0);
      const auto after = live.lower_bound(block);
      REQUIRE((after == live.end() || block + size <= after->first));
      REQUIRE((after == live.begin() || std::prev(after)->first + std::prev(after)->second <= block));
      block[0] = block[size - 1] = 1;
      live.emplace(block, size);
    } else {
      auto each = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      heap.put(each->first);
      free_bytes += each->second;
      live.erase(each);
    }
  }
  for (const auto& [block, size] : live) {
    heap.put(block);
    free_bytes += size;
  }
  CHECK(heap.give_back(largest_block) == free_bytes);
  CHECK(heap.take(80 * kib, span::dry) == nullptr);  // every mapping was whole again, and went back
}
