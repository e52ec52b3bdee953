// SPDX-License-Identifier: BSL-1.0
// Half types to float and back: every element, also those after the last whole vector.
#include <kiln/device/cpu/products/compute_copy.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace kiln;

TEST_CASE_TEMPLATE("half types become float and are rounded once on the way back", T, half, bfloat16) {
  for (const std::int64_t n : {0, 1, 15, 16, 37, 100000}) {
    std::vector<T> from(static_cast<std::size_t>(n), T(0.0F)), to(from.size(), T(1.0F));
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = T(static_cast<float>(i % 251) / 8);
    const cpu::compute_copy wide(from.data(), n);
    for (const bool add : {false, true}) {
      const cpu::compute_result result(to.data(), n, add);
      CHECK_FALSE(result.add());
      int wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        wrong += wide.data()[i] != static_cast<float>(i % 251) / 8;
        result.data()[i] = 2 * wide.data()[i] + 0.001F;
      }
      result.finish();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const float value = 2 * (static_cast<float>(i % 251) / 8) + 0.001F;
        const float before = static_cast<float>(T(value));
        wrong += static_cast<float>(to[i]) != static_cast<float>(T(add ? value + before : value));
      }
      CHECK(wrong == 0);
    }
  }
  const cpu::compute_copy nothing(static_cast<const T*>(nullptr), 5);
  CHECK(nothing.data() == nullptr);
}

TEST_CASE("float is its own copy") {
  std::vector<float> v{1, 2};
  CHECK(cpu::compute_copy(v.data(), 2).data() == v.data());
  const cpu::compute_result result(v.data(), 2, true);
  CHECK(result.data() == v.data());
  CHECK(result.add());
  result.finish();
  CHECK(v[1] == 2);
}
