// SPDX-License-Identifier: BSL-1.0
// What a packed panel of an operand holds, for every way in which the operand can lie in memory.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <kiln/core/half.hpp>
#include <kiln/device/cpu/products/gemm_pack.hpp>

#include "numbers.hpp"

using namespace kiln::cpu::detail;
using product_test::numbers;

namespace {

template <int Count, class T, class S>
void check_panel() {
  for (std::int64_t depth : {1, 3, 16, 37}) {
    for (int valid : {1, 2, Count - 1, Count}) {
      for (const bool across_first : {true, false}) {
        for (const std::int64_t unit : {1, 2}) {
          const std::int64_t across = across_first ? unit : depth + 5, along = across_first ? Count + 3 : unit;
          const auto from = numbers<S>(across * Count + along * depth);
          std::vector<T> to(static_cast<std::size_t>(panel_size<T>(Count, depth)) + 1, T{77});
          pack_panel<Count>(depth, valid, from.data(), across, along, to.data());
          int wrong = 0;
          for (std::int64_t p = 0; p < depth; ++p) {
            for (int i = 0; i < Count; ++i) {
              const T want = i < valid ? static_cast<T>(from[static_cast<std::size_t>(i * across + p * along)]) : T{};
              wrong += to[static_cast<std::size_t>(p * Count + i)] != want;
            }
          }
          CHECK(wrong == 0);
          CHECK(to.back() == T{77});
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("gemm pack: a panel holds its strip of the operand, zeros beyond it, and stays in its room") {
  check_panel<gemm_rows, float, float>();
  check_panel<gemm_row_step, float, float>();
  check_panel<gemm_rows, double, double>();
  check_panel<2 * gemm_row_step, double, double>();
  check_panel<gemm_width<float>, float, float>();
  check_panel<gemm_width<double>, double, double>();
}

TEST_CASE("gemm pack: half types become float, small integers the unsigned type that is computed in") {
  check_panel<gemm_rows, float, kiln::half>();
  check_panel<gemm_width<float>, float, kiln::half>();
  check_panel<gemm_rows, float, kiln::bfloat16>();
  check_panel<gemm_width<float>, float, kiln::bfloat16>();
  check_panel<gemm_rows, std::uint32_t, std::int8_t>();
}
