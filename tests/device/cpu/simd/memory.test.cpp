// SPDX-License-Identifier: BSL-1.0
// Loads and stores of every storage type, at any alignment.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#define STORED_TYPES                                                                                                \
  float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, \
      std::uint64_t, kiln::half, kiln::bfloat16, bool

using namespace simd_test;

namespace {

template <class S, int N>
std::vector<unsigned char> some_bytes(std::uint64_t seed) {
  std::vector<unsigned char> out(sizeof(S) * N);
  bit_source bits(seed);
  for (auto& byte : out) byte = static_cast<unsigned char>(bits.next() >> 20);
  if constexpr (std::is_same_v<S, bool>) {
    for (auto& byte : out) byte &= 1;
  }
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("memory: what is loaded and stored again is the same, at any alignment", S, STORED_TYPES) {
  every_width([]<int N>() {
    const auto bytes = some_bytes<S, N>(N);
    const std::unique_ptr<S[]> whole(new S[N + 3]());
    for (int offset = 0; offset < 3; ++offset) {
      std::memcpy(static_cast<void*>(whole.get() + offset), bytes.data(), bytes.size());
      const auto x = kiln::cpu::load<N>(whole.get() + offset);
      static_assert(std::is_same_v<decltype(x), const lanes<kiln::cpu::opmath_t<S>, N>>);
      const std::unique_ptr<S[]> out(new S[N + 3]());
      kiln::cpu::store(out.get() + offset, x);
      int wrong = 0;
      for (int i = 0; i < N; ++i) {
        const auto k = static_cast<std::size_t>(i + offset);
        wrong += same<kiln::cpu::opmath_t<S>>(whole[k], out[k]) ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("memory: any byte but zero is true, and true is stored as 1") {
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(i * 16);
  const auto mask = kiln::cpu::load<16>(reinterpret_cast<const bool*>(bytes));
  unsigned char out[16];
  kiln::cpu::store(reinterpret_cast<bool*>(out), mask);
  for (int i = 0; i < 16; ++i) CHECK(static_cast<int>(out[i]) == (i == 0 ? 0 : 1));
}

TEST_CASE_TEMPLATE("memory: every half pattern loads as its value and rounds back as the scalar type does", H,
                   kiln::half, kiln::bfloat16) {
  every_width([]<int N>() {
    int wrong = 0;
    for (unsigned start = 0; start < 65536; start += N) {
      values<H, N> from{};
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = H::from_bits(static_cast<std::uint16_t>(start + i));
      const auto x = kiln::cpu::load<N>(from.data());
      wrong += differences(x, [&](std::size_t i) { return static_cast<float>(from[i]); });
      // Between two neighbours: exactly the midpoint, then a little to either side.
      for (const float by : {1.0f, 1.0f + 0x1p-12f, 1.0f - 0x1p-12f, 1.0f + 0x1p-9f, 1.0f + 0x1p-8f, 1.0f + 0x3p-12f}) {
        const auto moved = x * lanes<float, N>(by);
        values<H, N> out{};
        kiln::cpu::store(out.data(), moved);
        const auto as_float = as_values(moved);
        for (std::size_t i = 0; i < out.size(); ++i)
          wrong += same(static_cast<float>(out[i]), static_cast<float>(H(as_float[i]))) ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  });
}

#undef STORED_TYPES
