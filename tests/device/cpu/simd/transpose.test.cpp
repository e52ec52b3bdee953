// SPDX-License-Identifier: BSL-1.0
// Squares of 2, 4, 8 and 16 vectors, transposed.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include <kiln/device/cpu/simd/lanes.hpp>
#include <kiln/device/cpu/simd/transpose.hpp>

using namespace kiln;

namespace {

template <class T, int N>
void check_square() {
  cpu::native_t<T, N> rows[std::size_t{N}];
  for (int r = 0; r < N; ++r)
    for (int c = 0; c < N; ++c) rows[r][c] = static_cast<T>(100 * r + c);
  cpu::detail::transpose_registers(rows);
  int wrong = 0;
  for (int r = 0; r < N; ++r)
    for (int c = 0; c < N; ++c) wrong += rows[r][c] != static_cast<T>(100 * c + r);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("transpose: each element of a square of registers goes to its place across the diagonal") {
  check_square<std::uint64_t, 2>();
  check_square<double, 4>();
  check_square<float, 8>();
  check_square<std::uint32_t, 16>();
  check_square<std::uint16_t, 16>();
}
