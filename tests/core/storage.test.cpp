// SPDX-License-Identifier: BSL-1.0
// Shared ownership: an object ends when its last reference does, once, on whichever thread that is.
#include <kiln/core/storage.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <utility>
#include <vector>

namespace counted_test {

struct counted {
  std::atomic<std::uint32_t> references{1};
  std::atomic<int>* ended = nullptr;
};
inline void destroy(counted* object) noexcept {
  ++*object->ended;
  delete object;
}

}  // namespace counted_test

using counted_test::counted;
using kiln::ref;

namespace {
ref<counted> make(std::atomic<int>& ended) {
  auto* object = new counted;
  object->ended = &ended;
  return ref<counted>::adopt(object);
}
}  // namespace

TEST_CASE("ref: the object ends with its last reference, not before") {
  std::atomic<int> ended = 0;
  {
    ref<counted> a = make(ended);
    CHECK(a.unique());
    {
      const ref<counted> b = a;
      CHECK_FALSE(a.unique());
      CHECK(a == b);
    }
    CHECK(a.unique());
    CHECK(ended == 0);
  }
  CHECK(ended == 1);
}

TEST_CASE("ref: moving hands over, and leaves nothing behind") {
  std::atomic<int> ended = 0;
  ref<counted> a = make(ended);
  ref<counted> b = std::move(a);
  CHECK_FALSE(static_cast<bool>(a));
  CHECK(b.unique());
  a = std::move(b);
  CHECK(a.unique());
  CHECK(ended == 0);
  a = nullptr;
  CHECK(ended == 1);
}

TEST_CASE("ref: assigning lets go of the old object; assigning itself keeps it") {
  std::atomic<int> first = 0, second = 0;
  ref<counted> a = make(first);
  const ref<counted> b = make(second);
  a = b;
  CHECK(first == 1);
  CHECK(second == 0);
  const ref<counted>& same = a;
  a = same;
  CHECK(second == 0);
  CHECK(a->references == 2);
}

TEST_CASE("ref: an empty one is false, equal to another empty one, and not unique") {
  const ref<counted> none, other = nullptr;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK(none == other);
  CHECK_FALSE(none.unique());
  CHECK(none.get() == nullptr);
}

TEST_CASE("ref: many threads that share and drop it end it once") {
  std::atomic<int> ended = 0;
  for (int round = 0; round < 50; ++round) {
    ref<counted> shared = make(ended);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([mine = shared] {
        for (int i = 0; i < 100; ++i) const ref<counted> copy = mine;
      });
    shared = nullptr;
    for (auto& t : threads) t.join();
  }
  CHECK(ended == 50);
}

TEST_CASE("storage: gives its block back through its own function") {
  static int released;
  released = 0;
  {
    auto* block = new kiln::storage;
    block->release = [](kiln::storage* b) noexcept {
      ++released;
      delete b;
    };
    const auto held = ref<kiln::storage>::adopt(block);
    const auto view = held;
    CHECK(released == 0);
  }
  CHECK(released == 1);
}
