// SPDX-License-Identifier: BSL-1.0
// A translation unit that is compiled for several instruction sets, each time with PART as the name of its function. It
// calls gemm and nothing that calls it too, so that the compiler puts some of it into the caller and leaves the rest to
// be shared with the other unit: what went wrong when both had the same names.
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/products/gemm.hpp>

int PART();

namespace {
// Numbers whose products and sums are exact in float, so that any order of adding gives the same.
std::vector<float> numbers(std::int64_t n, std::int64_t seed) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = static_cast<float>((seed = seed * 1103515245 % 2147483647) % 17 - 8);
  return v;
}
}  // namespace

/// How many elements of a product are not what a plain loop gives.
int PART() {
  constexpr std::int64_t m = 53, k = 45, n = 67;
  const auto a = numbers(m * k, 1), b = numbers(k * n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  kiln::cpu::gemm<float>(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n);
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float expected = 0;
      for (std::int64_t q = 0; q < k; ++q)
        expected += a[static_cast<std::size_t>(i * k + q)] * b[static_cast<std::size_t>(q * n + j)];
      wrong += c[static_cast<std::size_t>(i * n + j)] != expected;
    }
  return wrong;
}
