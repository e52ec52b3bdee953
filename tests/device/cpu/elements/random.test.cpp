// SPDX-License-Identifier: BSL-1.0
// Filling memory with random numbers against the scalar Philox of core/philox.hpp, which its own test holds to the
// published answers.
#include <kiln/device/cpu/elements/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace cpu = kiln::cpu;

namespace {

std::uint32_t word(const kiln::random_stream& s, std::int64_t i) {
  return s.block(static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)];
}
// A first block whose low word overflows within the tensor.
constexpr kiln::random_stream stream{0x123456789abcdef0, 0xfffffff0};

template <class T, class Oracle>
void check_uniform(Oracle oracle) {
  for (std::int64_t n : {0, 1, 7, 63, 64, 65, 1023, 1024, 1025, 40000}) {
    std::vector<T> got(static_cast<std::size_t>(n) + 1, T(7.0f));
    cpu::fill_uniform(got.data(), n, stream);
    bool same = true;
    for (std::int64_t i = 0; i < n; ++i) same &= static_cast<double>(got[static_cast<std::size_t>(i)]) == oracle(i);
    CHECK_MESSAGE(same, n);
    CHECK(static_cast<double>(got.back()) == 7);
  }
}

}  // namespace

TEST_CASE("element i of a uniform float tensor is the top of word i") {
  check_uniform<float>([](std::int64_t i) { return (word(stream, i) >> 8) * 0x1p-24; });
  check_uniform<kiln::half>([](std::int64_t i) { return (word(stream, i) >> 21) * 0x1p-11; });
  check_uniform<kiln::bfloat16>([](std::int64_t i) { return (word(stream, i) >> 24) * 0x1p-8; });
}

TEST_CASE("a uniform double takes two words") {
  check_uniform<double>(
      [](std::int64_t i) { return static_cast<double>(stream.bits(static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53; });
}

TEST_CASE("normal numbers are those of Box and Muller's formula") {
  constexpr long double pi = 3.14159265358979323846264338327950288L;
  for (std::int64_t n : {1, 2, 31, 33, 5000}) {
    std::vector<float> f(static_cast<std::size_t>(n));
    std::vector<double> d(static_cast<std::size_t>(n));
    cpu::fill_normal(f.data(), n, stream);
    cpu::fill_normal(d.data(), n, stream);
    long double worst_float = 0, worst_double = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t even = i / 2 * 2;
      const auto pick = [&](long double u, long double turn) {
        const long double r = std::sqrt(-2 * std::log(u));
        return i % 2 == 0 ? r * std::cos(turn * pi) : r * std::sin(turn * pi);
      };
      const long double expected = pick(((word(stream, even) >> 1) + 0.5L) / 0x1p31L,
                                        static_cast<std::int32_t>(word(stream, even + 1)) / 0x1p31L);
      worst_float =
          std::max(worst_float, std::abs(expected - static_cast<long double>(f[static_cast<std::size_t>(i)])));
      const auto bits = [](std::int64_t k) { return stream.bits(static_cast<std::uint64_t>(k)); };
      const long double wide = pick((static_cast<long double>(bits(even) >> 1) + 0.5L) / 0x1p63L,
                                    static_cast<long double>(static_cast<std::int64_t>(bits(even + 1))) / 0x1p63L);
      worst_double = std::max(worst_double, std::abs(wide - static_cast<long double>(d[static_cast<std::size_t>(i)])));
    }
    // Where u is close to 1 its 24 digits are what is left of the radius.
    CHECK(worst_float < 1e-4L);
    CHECK(worst_double < 1e-7L);
  }
}

TEST_CASE("integers are the top of the product of 64 bits with the range") {
  std::vector<std::int64_t> got(3000);
  const std::uint64_t range = 1000003;
  cpu::fill_integers(got.data(), 3000, stream, -5, range);
  bool same = true;
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Schoolbook multiplication in halves of 32 bits.
    const std::uint64_t r = stream.bits(i), high = (r >> 32) * range, low = (r & 0xffffffff) * range;
    const std::uint64_t top = (high + (low >> 32)) >> 32;
    same &= got[i] == -5 + static_cast<std::int64_t>(top);
  }
  CHECK(same);
}
