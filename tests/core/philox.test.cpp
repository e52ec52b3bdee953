// SPDX-License-Identifier: BSL-1.0
// Philox against the published answers, streams, and generators that threads share.
#include <kiln/core/philox.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

using kiln::philox4x32;
using kiln::philox_counter;

TEST_CASE("Philox4x32-10 gives the known answers of Random123") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == philox_counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t f = 0xffffffff;
  CHECK(philox4x32({f, f, f, f}, {f, f}) == philox_counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  // Counter and key are digits of pi.
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        philox_counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Philox runs at compile time") {
  static_assert(philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
  static_assert(kiln::random_stream{0, 0}.block(0)[3] == 0x9b00dbd8);
}

TEST_CASE("a stream puts block number and seed, 64 bits each, into counter and key") {
  const kiln::random_stream s{0x299f31d0a4093822, 0x85a308d3243f6a88};
  CHECK(s.block(0) == philox4x32({0x243f6a88, 0x85a308d3, 0, 0}, {0xa4093822, 0x299f31d0}));
  const kiln::random_stream carry{1, 0xffffffff};
  CHECK(carry.block(1) == philox4x32({0, 1, 0, 0}, {1, 0}));
  CHECK(s.bits(3) == (s.block(1)[2] | std::uint64_t{s.block(1)[3]} << 32));
}

TEST_CASE("a generator hands out adjoining parts and starts again when seeded") {
  kiln::generator g(5);
  CHECK(g.position() == 0);
  CHECK(g.take(3).first == 0);
  CHECK(g.position() == 3);
  const auto next = g.take(4);
  CHECK(next.first == 3);
  CHECK(next.seed == 5);
  CHECK(g.take(1).first == 7);
  g.manual_seed(9);
  CHECK(g.take(1).first == 0);
  CHECK(g.take(1).seed == 9);
}

TEST_CASE("threads that share a generator never get the same part") {
  kiln::generator g;
  std::vector<std::vector<std::uint64_t>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got)
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) mine.push_back(g.take(2).first);
    });
  for (auto& t : threads) t.join();
  std::vector<std::uint64_t> all;
  for (auto& mine : got) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == 20000);
  bool apart = true;
  for (std::size_t i = 0; i < all.size(); ++i) apart &= all[i] == 2 * i;
  CHECK(apart);
}

TEST_CASE("manual_seed sets the default generator") {
  kiln::manual_seed(42);
  const auto first = kiln::default_generator().take(1);
  CHECK(first.seed == 42);
  CHECK(first.first == 0);
}

TEST_CASE("generator: seek goes on at a block of the seed's sequence") {
  kiln::generator a(3), b(3);
  a.take(10);
  b.seek(10);
  CHECK(a.take(1).bits(1) == b.take(1).bits(1));
  b.seek(0);
  CHECK(b.take(1).bits(0) == kiln::random_stream{3, 0}.bits(0));
  CHECK(b.position() == 1);
}
