// SPDX-License-Identifier: BSL-1.0
// The pieces of a product: what a packed panel holds, and what a tile computes and leaves alone.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <kiln/core/half.hpp>
#include <kiln/device/cpu/gemm_kernel.hpp>

using namespace kiln::cpu::detail;

namespace {

template <class T>
std::vector<T> numbers(std::int64_t count) {
  static std::mt19937 bits(5);
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<T>(static_cast<float>(bits() % 2001) / 1000 - 1));
  return out;
}

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

template <int Rows, int Vectors, bool Packed, class T>
void check_tile() {
  constexpr int width = Vectors * gemm_vector<T>::lanes;
  const std::int64_t depth = 29, a_row = Packed ? 0 : depth + 2, b_row = width + 1;
  const auto a = numbers<T>(Packed ? Rows * depth : Rows * a_row), b = numbers<T>(depth * b_row);
  for (const bool by_rows : {true, false}) {
    for (const int rows : {1, Rows}) {
      for (const int columns : {1, width - 1, width}) {
        for (const bool add : {false, true}) {
          const std::int64_t row = by_rows ? width + 2 : 1, column = by_rows ? 1 : Rows + 2;
          auto c = numbers<T>(Rows * row + width * column);
          const auto before = c;
          gemm_tile<Rows, Vectors, Packed>(depth, a.data(), a_row, b.data(), b_row,
                                           gemm_target<T>{c.data(), row, column, rows, columns, add});
          int wrong = 0;
          auto expected = before;
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) {
              const auto at = static_cast<std::size_t>(i * row + j * column);
              double sum = add ? static_cast<double>(before[at]) : 0;
              for (std::int64_t p = 0; p < depth; ++p) {
                sum += static_cast<double>(a[static_cast<std::size_t>(Packed ? p * Rows + i : i * a_row + p)]) *
                       static_cast<double>(b[static_cast<std::size_t>(p * b_row + j)]);
              }
              wrong += !(std::abs(static_cast<double>(c[at]) - sum) < 1e-5);
              expected[at] = c[at];
            }
          }
          CHECK(wrong == 0);
          CHECK(c == expected);  // nothing else was touched
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("gemm kernel: a panel holds its strip of the operand, zeros beyond it, and stays in its room") {
  check_panel<gemm_rows, float, float>();
  check_panel<gemm_row_step, float, float>();
  check_panel<gemm_rows, double, double>();
  check_panel<2 * gemm_row_step, double, double>();
  check_panel<gemm_width<float>, float, float>();
  check_panel<gemm_width<double>, double, double>();
  check_panel<gemm_width<float>, float, kiln::half>();
}

TEST_CASE("gemm kernel: tiles of every shape are products and touch nothing else") {
  check_tile<gemm_rows, 2, true, float>();
  check_tile<gemm_rows, 1, false, float>();
  check_tile<gemm_row_step, 2, false, float>();
  check_tile<2 * gemm_row_step, 1, true, double>();
  check_tile<gemm_rows, 2, false, double>();
}
