// SPDX-License-Identifier: BSL-1.0
// Writes past the cache put the same bytes in the same places as others, and touch nothing beside them.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include <kiln/device/cpu/simd/stream.hpp>

using namespace kiln;

TEST_CASE("stream: copied bytes arrive, at any alignment") {
  std::vector<char> from(1000), to(1200);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 31);
  for (std::size_t offset = 0; offset < 70; ++offset)
    for (const std::size_t n : {0u, 1u, 63u, 64u, 65u, 500u, 1000u}) {
      to.assign(1200, 'x');
      cpu::stream(to.data() + offset, from.data(), n);
      cpu::stream_fence();
      REQUIRE(std::memcmp(to.data() + offset, from.data(), n) == 0);
      REQUIRE(to[offset + n] == 'x');
      if (offset > 0) REQUIRE(to[offset - 1] == 'x');
    }
}

TEST_CASE_TEMPLATE("stream: lanes of any stored type arrive", S, std::int8_t, half, bfloat16, float, double,
                   std::int64_t, bool) {
  constexpr int N = 16;
  alignas(64) std::array<S, 3 * N> to{}, want{};
  std::array<S, N> from;
  for (int i = 0; i < N; ++i) from[static_cast<std::size_t>(i)] = static_cast<S>(static_cast<float>(i % 5));
  for (int i = 0; i < N; ++i) want[static_cast<std::size_t>(N + i)] = from[static_cast<std::size_t>(i)];
  cpu::store_non_temporal(to.data() + N, cpu::load<N>(static_cast<const S*>(from.data())));
  cpu::stream_fence();
  CHECK(std::memcmp(to.data(), want.data(), sizeof(to)) == 0);
}
