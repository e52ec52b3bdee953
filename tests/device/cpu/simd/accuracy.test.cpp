// SPDX-License-Identifier: BSL-1.0
// The table of errors: names that occur once, limits that make sense, an error for a name that is not there.
#include <kiln/device/cpu/simd/accuracy.hpp>

#include <doctest/doctest.h>

TEST_CASE("accuracy: every function is stated once, with limits of at least correct rounding or exact") {
  for (const auto& entry : kiln::cpu::accuracies) {
    int times = 0;
    for (const auto& other : kiln::cpu::accuracies) times += entry.name == other.name ? 1 : 0;
    CHECK(times == 1);
    CHECK((entry.single_ulps == 0 || entry.single_ulps >= 0.5));
    CHECK((entry.double_ulps == 0 || entry.double_ulps >= 0.5));
  }
}
TEST_CASE("accuracy: a name that is not there is an error") {
  static_assert(kiln::cpu::accuracy_of("sqrt").single_ulps == 0.5);
  CHECK_THROWS_AS(static_cast<void>(kiln::cpu::accuracy_of("tanhh")), std::out_of_range);
}
