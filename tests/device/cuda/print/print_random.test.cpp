// SPDX-License-Identifier: BSL-1.0
// Random numbers on the emulator: the words of Philox that the paper's own test vectors give, made into numbers here by
// plain arithmetic; and the normal distribution by its moments.
#include <kiln/device/cuda/print/print_random.hpp>

#include "device/cuda/emulated.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

using namespace kiln;
using emulated::memory;

namespace {

// Written from the paper: multiply two words, swap and mix, ten rounds.
std::array<std::uint32_t, 4> words_of(std::uint64_t block, std::uint64_t seed) {
  std::uint32_t x0 = static_cast<std::uint32_t>(block), x1 = static_cast<std::uint32_t>(block >> 32), x2 = 0, x3 = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p = 0xD2511F53ull * x0, q = 0xCD9E8D57ull * x2;
    const auto y0 = static_cast<std::uint32_t>(q >> 32) ^ x1 ^ k0, y2 = static_cast<std::uint32_t>(p >> 32) ^ x3 ^ k1;
    x1 = static_cast<std::uint32_t>(q);
    x3 = static_cast<std::uint32_t>(p);
    x0 = y0;
    x2 = y2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {x0, x1, x2, x3};
}

const std::vector<dtype> real_types{dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};
constexpr std::uint64_t seed = 0x123456789abcdefull, first = (1ull << 33) + 5;

std::string all_texts() {
  std::string text;
  for (const dtype type : real_types) {
    text += cuda::print_random(cuda::random_kind::uniform, type).text;
    text += cuda::print_random(cuda::random_kind::normal, type).text;
  }
  for (const dtype type : {dtype::int64, dtype::int32, dtype::uint8, dtype::float32, dtype::bfloat16})
    text += cuda::print_random(cuda::random_kind::integers, type).text;
  return text;
}

template <class... More>
void run(const emulated::module& module, cuda::random_kind kind, memory& to, More... more) {
  const cuda::source s = cuda::print_random(kind, to.type());
  const unsigned long long begin = first - 5;  // a graph's replay passes over some blocks
  static emulated::buffer<unsigned long long> moved{5};
  module.launch(s.name, {.grid = {3}, .block = {256}}, to.data(), static_cast<long long>(to.size()),
                static_cast<unsigned long long>(seed), begin, moved.data(), more...);
}

}  // namespace

TEST_CASE("print_random: the words are those of the paper's test vectors") {
  CHECK(words_of(0, 0) == std::array<std::uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
}

TEST_CASE("print_random: uniform numbers and integers are what the words say, normal ones nearly") {
  const emulated::module module(all_texts(), emulated::headers());
  for (const dtype type : real_types) {
    memory uniform(type, 4099), normal(type, 4099);
    run(module, cuda::random_kind::uniform, uniform);
    run(module, cuda::random_kind::normal, normal);
    const int digits = type == dtype::float16 ? 11 : type == dtype::bfloat16 ? 8 : 24;
    long double sum = 0, squares = 0;
    int wrong = 0;
    for (std::size_t i = 0; i < uniform.size(); ++i) {
      const std::size_t per_block = type == dtype::float64 ? 2 : 4, k = i % per_block;
      const auto w = words_of(first + i / per_block, seed);
      const std::uint64_t pair = w[2 * (k % 2)] | std::uint64_t{w[2 * (k % 2) + 1]} << 32;
      const long double want = type == dtype::float64
                                   ? std::ldexp(static_cast<long double>(pair >> 11), -53)
                                   : std::ldexp(static_cast<long double>(w[k] >> (32 - digits)), -digits);
      wrong += uniform[i] != want;
      long double u = 0, angle = 0;
      if (type == dtype::float64) {
        u = std::ldexp(static_cast<long double>((w[0] | std::uint64_t{w[1]} << 32) >> 1) + 0.5L, -63);
        angle = std::ldexp(static_cast<long double>(static_cast<std::int64_t>(w[2] | std::uint64_t{w[3]} << 32)), -63);
      } else {
        u = std::ldexp(static_cast<long double>(w[k / 2 * 2] >> 1) + 0.5L, -31);
        angle = std::ldexp(static_cast<long double>(static_cast<std::int32_t>(w[k / 2 * 2 + 1])), -31);
      }
      angle *= std::numbers::pi_v<long double>;
      const long double r = std::sqrt(-2 * std::log(u)), z = k % 2 == 0 ? r * std::cos(angle) : r * std::sin(angle);
      const long double unit = type == dtype::float64   ? 1e-12L
                               : type == dtype::float32 ? 1e-4L
                               : type == dtype::float16 ? 2e-3L
                                                        : 2e-2L;
      wrong += !(std::abs(normal[i] - z) <= unit * (1 + std::abs(z)));
      sum += normal[i];
      squares += normal[i] * normal[i];
    }
    CHECK_MESSAGE(wrong == 0, name(type));
    CHECK(std::abs(static_cast<double>(sum) / 4099) < 0.06);
    CHECK(static_cast<double>(squares) / 4099 == doctest::Approx(1).epsilon(0.1));
  }
  for (const dtype type : {dtype::int64, dtype::int32, dtype::uint8, dtype::float32, dtype::bfloat16}) {
    memory y(type, 1001);
    const std::uint64_t range = type == dtype::int64 ? 0xfedcba9876543211ull : 17;
    const std::int64_t low = type == dtype::uint8 ? 3 : type == dtype::int64 ? -5000000000ll : -7;
    run(module, cuda::random_kind::integers, y, static_cast<long long>(low), static_cast<unsigned long long>(range));
    int wrong = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto w = words_of(first + i / 2, seed);
      const std::uint64_t bits = w[2 * (i % 2)] | std::uint64_t{w[2 * (i % 2) + 1]} << 32;
      __extension__ using wide = unsigned __int128;
      const auto drawn = static_cast<std::uint64_t>(static_cast<wide>(bits) * range >> 64);
      wrong += y[i] != static_cast<long double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + drawn));
    }
    CHECK_MESSAGE(wrong == 0, name(type));
  }
}

TEST_CASE("print_random: refuses uniform integers with a sentence") {
  CHECK_THROWS_AS(cuda::print_random(cuda::random_kind::uniform, dtype::int32), dtype_error);
}
