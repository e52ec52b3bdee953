// SPDX-License-Identifier: BSL-1.0
// Lists that only grow: entries stay where they are, threads lose none, and the child of a fork finds all in order.
#include <kiln/core/growing_list.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/sanitized.hpp"

using kiln::detail::growing_list;
using kiln::detail::never_destroyed;
namespace support = kiln::support;

TEST_CASE("growing_list: finds the latest, or null; what it gave stays where it is; its end is that of its entries") {
  const auto counted = std::make_shared<int>(3);
  {
    growing_list<std::shared_ptr<int>> list;
    CHECK(list.find([](const auto&) { return true; }) == nullptr);
    const auto* const first = &list.add(counted);
    for (int i = 0; i < 100; ++i) list.add(std::make_shared<int>(i % 10));
    CHECK(first->get() == counted.get());
    CHECK(list.find([&](const auto& p) { return p == counted; }) == first);
    CHECK(**list.find([](const auto& p) { return *p < 5; }) == 4);
    CHECK(list.find([](const auto& p) { return *p == 10; }) == nullptr);
    CHECK(counted.use_count() == 2);
  }
  CHECK(counted.use_count() == 1);
}

TEST_CASE("growing_list: threads that add and look lose nothing") {
  growing_list<int> list;
  std::atomic<int> wrong{0};
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([&list, &wrong, t] {
      for (int i = 0; i < 200; ++i) {
        list.add(4 * i + t);
        for (int k = 0; k <= i; k += 50) wrong += !list.find([=](int v) { return v == 4 * k + t; });
      }
    });
  for (std::thread& t : team) t.join();
  CHECK(wrong == 0);
  for (int v = 0; v < 800; ++v) CHECK(list.find([v](int each) { return each == v; }));
}

TEST_CASE("growing_list: children of a program whose threads add find whole entries and add their own") {
  growing_list<std::string> list;
  constexpr int rounds = 20;
  std::atomic<int> round{0}, added{0};
  std::thread adding([&] {  // so many in a round: the time of a child does not make the next ones' lists longer
    for (int now = round; now < rounds; now = round) {
      if (added < 2000 * (now + 1)) list.add(std::string(100, static_cast<char>('a' + added++ % 26)));
      std::this_thread::yield();
    }
  });
  const auto child = [&] {
    int broken = 0;
    list.find([&](const std::string& s) {
      broken += s.size() != 100 || s.find_first_not_of(s[0]) != std::string::npos;
      return false;
    });
    if (broken > 0) return 1;
    if (test::sanitized) return 42;  // their allocators may be found locked in a child
    list.add("mine");
    return list.find([](const std::string& s) { return s == "mine"; }) ? 42 : 2;
  };
  while (round < rounds) {
    while (added < 2000 * round + 100) std::this_thread::yield();
    CHECK(support::run_in_child(child) == 42);
    ++round;
  }
  adding.join();
}

namespace {
constinit never_destroyed<growing_list<int>> kept;
}

TEST_CASE("growing_list: one that is never destroyed is there before everything else") {
  CHECK(kept.value.find([](int) { return true; }) == nullptr);
  CHECK(kept.value.add(5) == 5);
  CHECK(kept.value.find([](int v) { return v == 5; }));
}
