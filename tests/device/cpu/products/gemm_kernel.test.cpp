// SPDX-License-Identifier: BSL-1.0
// What a tile of a product computes and leaves alone, what it packs as it goes, and sums in parts.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <kiln/core/half.hpp>
#include <kiln/device/cpu/products/gemm_kernel.hpp>

#include "numbers.hpp"

using namespace kiln::cpu::detail;
using product_test::numbers;

namespace {

// A tile over operands in any place, rows of A `along` the product or across it; `packing` is what it packs meanwhile.
enum class packing { nothing, rows_of_b, columns_of_a, later };

template <int Vectors, class T>
void check_tile(bool along, packing what = packing::nothing) {
  constexpr int Rows = gemm_rows, width = Vectors * gemm_vector<T>::lanes;
  const std::int64_t depth = 29, line = along ? depth + 2 : Rows + 3, b_step = width + 1;
  const auto a = numbers<T>(along ? Rows * line : depth * line), b = numbers<T>(depth * b_step);
  const auto later = numbers<T>(depth * b_step);
  for (const bool by_rows : {true, false}) {
    for (const int rows : {1, Rows}) {
      for (const int columns : {1, width - 1, width}) {
        for (const bool add : {false, true}) {
          const std::int64_t row = by_rows ? width + 2 : 1, column = by_rows ? 1 : Rows + 2;
          auto c = numbers<T>(Rows * row + width * column);
          const auto before = c;
          std::vector<T> copy(static_cast<std::size_t>(depth * (width > Rows ? width : Rows)) + 1, T{77});
          gemm_left<T> left{a.data(), along ? line : 1, along ? 1 : line};
          gemm_right<T, T> right{b.data(), b_step};
          if (what == packing::columns_of_a) left.copy = copy.data();
          if (what == packing::rows_of_b) right = {nullptr, b_step, b.data(), copy.data()};
          if (what == packing::later) right.later = {later.data(), b_step, 3, copy.data()};
          gemm_tile<Vectors>(depth, left, right, gemm_target<T, T>{c.data(), row, column, rows, columns, add});
          int wrong = 0;
          auto expected = before;
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) {
              const auto at = static_cast<std::size_t>(i * row + j * column);
              double sum = add ? static_cast<double>(before[at]) : 0;
              for (std::int64_t p = 0; p < depth; ++p) {
                sum += static_cast<double>(a[static_cast<std::size_t>(along ? i * line + p : p * line + i)]) *
                       static_cast<double>(b[static_cast<std::size_t>(p * b_step + j)]);
              }
              wrong += !(std::abs(static_cast<double>(c[at]) - sum) < 1e-5);
              expected[at] = c[at];
            }
          }
          CHECK(wrong == 0);
          CHECK(c == expected);  // nothing else was touched
          auto packed = std::vector<T>(copy.size(), T{77});
          const std::int64_t steps = what == packing::later ? 10 : depth;  // every third of 29
          const int count = what == packing::columns_of_a ? Rows : width;
          for (std::int64_t p = 0; p < steps && what != packing::nothing; ++p) {
            for (int i = 0; i < count; ++i) {
              const auto& from = what == packing::columns_of_a ? a : what == packing::later ? later : b;
              packed[static_cast<std::size_t>(p * count + i)] =
                  from[static_cast<std::size_t>(p * (what == packing::columns_of_a ? line : b_step) + i)];
            }
          }
          CHECK(copy == packed);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("gemm kernel: tiles of every shape are products and touch nothing else") {
  check_tile<2, float>(false);
  check_tile<1, float>(true);
  check_tile<1, double>(false);
  check_tile<2, double>(true);
}

TEST_CASE("gemm kernel: operands are packed as they are read, and a part of the next panel beside them") {
  check_tile<2, float>(false, packing::rows_of_b);
  check_tile<2, double>(true, packing::rows_of_b);
  check_tile<2, float>(false, packing::columns_of_a);
  check_tile<2, double>(false, packing::columns_of_a);
  check_tile<2, float>(false, packing::later);
  check_tile<2, double>(true, packing::later);
}

TEST_CASE("gemm kernel: parts of a sum of half types are kept in float and rounded at the end") {
  constexpr int rows = gemm_rows, width = gemm_width<float>;
  const std::int64_t depth = 8;
  // Each part is 8 * 0.25 * 2^-10 beside a first one of 2: in half, adding the parts one by one would change nothing.
  const std::vector<float> a(static_cast<std::size_t>(rows * depth), 0.25F);
  std::vector<float> b(static_cast<std::size_t>(width * depth), 1.0F), partial(static_cast<std::size_t>(rows * width));
  std::vector<kiln::half> c(static_cast<std::size_t>(rows * width), kiln::half(1.0F));
  gemm_target<float, kiln::half> to{c.data(), width, 1, rows, width, true, partial.data(), width, true, false};
  for (int part = 0; part < 5; ++part) {
    to.first = part == 0;
    to.last = part == 4;
    gemm_tile<2>(depth, gemm_left<float>{a.data(), 1, rows}, gemm_right<float, kiln::half>{b.data(), width}, to);
    CHECK((static_cast<float>(c[0]) == 1.0F) == !to.last);
    b.assign(b.size(), 0.0009765625F);
  }
  // 1 + 2 + 4 * 2 * 2^-10 = 3 + 2^-7
  int wrong = 0;
  for (const kiln::half x : c) wrong += static_cast<float>(x) != 3.0078125F;
  CHECK(wrong == 0);
}
