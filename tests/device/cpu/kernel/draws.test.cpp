// SPDX-License-Identifier: BSL-1.0
// Strips of random numbers: from any position of a stream, any distance apart.
#include <kiln/device/cpu/kernel/draws.hpp>

#include <doctest/doctest.h>

#include <vector>

#include "support/draws.hpp"

using namespace kiln;

namespace {

constexpr random_stream stream{99, (std::uint64_t{1} << 32) - 3};  // counters that carry over into the next word

template <leaf_kind Kind, class T, class F>
void check_strips(F number) {
  for (const std::uint64_t position : {0u, 1u, 2u, 3u, 6u, 1021u, 4096u})
    for (const std::int64_t stride : {1, 0, 2, 5})
      for (const std::int64_t n : {1, 2, 7, 64, 1500}) {
        std::vector<T> got(static_cast<std::size_t>(n) + 1, T(77));
        cpu::detail::draw_strip<Kind, T>(stream, position, stride, n, got.data());
        for (std::int64_t i = 0; i < n; ++i) {
          INFO("position ", position, " stride ", stride, " element ", i, " of ", n);
          const double want = number(stream.seed, stream.first, position + static_cast<std::uint64_t>(i * stride));
          REQUIRE(static_cast<double>(got[static_cast<std::size_t>(i)]) ==
                  doctest::Approx(want).epsilon(sizeof(T) == 8 ? 1e-14 : 2e-6).scale(1));
        }
        REQUIRE(got.back() == T(77));
      }
}

}  // namespace

TEST_CASE("draws: a strip has the numbers of its positions and nothing beyond") {
  check_strips<leaf_kind::uniform, float>(&test::uniform);
  check_strips<leaf_kind::normal, float>(&test::normal);
  check_strips<leaf_kind::normal, double>(&test::normal_of_double);
}

TEST_CASE("draws: addresses name positions; a stream that is none gives zeros") {
  const std::uint64_t scalars[] = {stream.seed, stream.first, no_block};
  cpu::draw_slot slot{.slot = 0, .seed = 0, .first = 1, .size = 4};
  slot.fill = &cpu::detail::draw_strip<leaf_kind::uniform, float>;
  std::vector<float> got(3);
  const auto* const address = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(random_places + 4 * 10));
  cpu::detail::stage_draws(slot, scalars, got.data(), address, 2, 3);
  for (std::uint64_t i = 0; i < 3; ++i)
    CHECK(static_cast<double>(got[i]) == test::uniform(stream.seed, stream.first, 10 + 2 * i));
  slot.first = 2;
  cpu::detail::stage_draws(slot, scalars, got.data(), address, 2, 3);
  CHECK(got == std::vector<float>{0, 0, 0});
}
