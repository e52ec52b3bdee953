// SPDX-License-Identifier: BSL-1.0
// Handles that q has let go of, told from those it holds.
#include <kiln/k/temporaries.hpp>

#include "k/support.hpp"

#include <set>

using namespace k_test;

TEST_CASE("what only the list holds is freed, however many there are") {
  const std::int64_t before = k_host::live_objects();
  {
    k::temporary_handles given;
    std::set<std::int64_t> freed;
    const auto sweep = [&] {
      given.sweep([&](k::object x) { CHECK(freed.insert(k::items<k::object>(x)[0]->long_integer).second); });
    };
    const auto handle = [](int i) { return owned(k::knk(1, k::kj(i))); };
    given.note(handle(-1).get());  // nothing is noted as long as it is off
    sweep();
    CHECK(freed.empty());
    given.set(true);
    std::vector<owned> held;
    for (int i = 0; i < 1000; ++i) {
      owned x = handle(i);
      given.note(x.get());
      if (i % 2) held.push_back(std::move(x));
    }
    for (int i = 0; i < 40; ++i) sweep();
    CHECK(freed.size() == 500);
    for (std::int64_t number : freed) CHECK(number % 2 == 0);
    held.clear();
    for (int i = 0; i < 40; ++i) sweep();
    CHECK(freed.size() == 1000);
    given.note(handle(5000).get());
    given.set(false);
    sweep();
    CHECK(!freed.contains(5000));
  }
  CHECK(k_host::live_objects() == before);
}
