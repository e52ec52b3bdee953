// SPDX-License-Identifier: BSL-1.0
// What lies between memory and registers: nothing beyond a rest is read or written. Compared with plain loops.
#include <doctest/doctest.h>

#include <kiln/device/cpu/kernel/register_access.hpp>

#include <array>
#include <cstdint>
#include <vector>

using namespace kiln::cpu;

namespace {

constexpr int N = 4;
constexpr std::int64_t begin = 3;  // where the rest of a strip begins

/// A strip that ends with a rest of `left` elements, in memory of its own, so that a sanitizer sees what lies behind.
std::vector<float> strip_with_rest(std::int64_t left) {
  std::vector<float> strip;
  for (std::int64_t i = 0; i < begin + left; ++i) strip.push_back(static_cast<float>(10 + i));
  return strip;
}

}  // namespace

TEST_CASE("register_access: a single value fills a register, a contiguous leaf stays where it is") {
  alignas(64) std::array<float, N> workspace{};
  const float value = 7;
  auto* const bytes = reinterpret_cast<unsigned char*>(workspace.data());
  const void* const in[] = {&value, &value};
  const std::int64_t step[] = {0, 1};
  const strip s{.in = in, .step = step, .count = 5};
  detail::source single, contiguous;
  detail::called_find_source<float, N>(s, 0, single, bytes);
  CHECK(single.base == workspace.data());
  CHECK(single.mask == 0);
  CHECK(workspace == std::array<float, N>{7, 7, 7, 7});
  detail::called_find_source<float, N>(s, 1, contiguous, bytes);
  CHECK(contiguous.base == &value);
  CHECK(contiguous.mask == -1);
}

TEST_CASE("register_access: a rest is padded and put back, or added") {
  for (std::int64_t left = 1; left < N; ++left) {
    const std::vector<float> in = strip_with_rest(left);
    alignas(64) std::array<float, N> workspace{-1, -1, -1, -1};
    auto* const bytes = reinterpret_cast<unsigned char*>(workspace.data());
    detail::source from{in.data(), -1};
    detail::pad<float, N>(from, bytes, begin, left);
    CHECK(from.base == workspace.data());
    CHECK(from.mask == 0);
    for (std::int64_t i = 0; i < left; ++i)
      CHECK(workspace[static_cast<std::size_t>(i)] == static_cast<float>(10 + begin + i));

    workspace = {1, 2, 3, 4};
    detail::pad<float, N>(from, bytes, begin, left);  // a single value: it is there already
    CHECK(workspace == std::array<float, N>{1, 2, 3, 4});
    for (const bool add : {false, true}) {
      std::vector<float> out = strip_with_rest(left);
      detail::put_end<float, N>(out.data(), add, bytes, begin, left);
      for (std::int64_t i = 0; i < begin + left; ++i) {
        const float before = static_cast<float>(10 + i), put = i < begin ? 0 : static_cast<float>(i - begin + 1);
        CHECK(out[static_cast<std::size_t>(i)] == (i < begin || add ? before + put : put));
      }
    }
    detail::put_end<float, N>(nullptr, false, bytes, begin, left);  // a result that nobody asked for
  }
}
