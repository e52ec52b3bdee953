// SPDX-License-Identifier: BSL-1.0
// What tiles at an edge compute and leave alone, for every number of rows and columns that are missing.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <kiln/core/half.hpp>
#include <kiln/device/cpu/products/gemm_edge.hpp>

#include "numbers.hpp"

using namespace kiln::cpu::detail;
using product_test::whole_numbers;

namespace {

enum class edge { packed, at_the_end, after_others };  // of B: what lies beyond and before the columns

template <int Rows, int Vectors, class T, class S = T>
void check_edge(edge where) {
  constexpr int lanes = gemm_vector<T>::lanes, width = Vectors * lanes;
  const std::int64_t depth = 7, before = where == edge::after_others ? lanes : 0;
  int wrong = 0;
  for (const bool along : {true, false}) {
    for (const bool by_rows : {true, false}) {
      for (int rows = 1; rows <= 2 * Rows + 1; ++rows) {
        for (int columns = width - lanes + 1; columns <= width; ++columns) {
          const bool add = (rows + columns) % 2 == 0;
          const std::int64_t line = along ? depth + 2 : rows + 3, row = by_rows ? width + 2 : 1;
          const std::int64_t column = by_rows ? 1 : rows + 2, there = where == edge::packed ? width : columns;
          const auto a = whole_numbers<T>((along ? rows : depth) * line);
          const auto b = whole_numbers<T>(before + depth * there);  // ends where the last column does
          auto c = whole_numbers<S>(rows * row + columns * column);
          auto expected = c;
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) {
              S& to = expected[static_cast<std::size_t>(i * row + j * column)];
              T sum = add ? static_cast<T>(to) : T{};
              for (std::int64_t p = 0; p < depth; ++p)
                sum += a[static_cast<std::size_t>(along ? i * line + p : p * line + i)] *
                       b[static_cast<std::size_t>(before + p * there + j)];
              to = static_cast<S>(sum);
            }
          }
          const int missing = where == edge::packed ? 0 : width - columns;
          edge_tile<Rows, Vectors>(depth, gemm_left<T>{a.data(), along ? line : 1, along ? 1 : line},
                                   edge_columns<T>{b.data() + before, there, missing, where == edge::after_others},
                                   gemm_target<T, S>{c.data(), row, column, rows, columns, add});
          for (std::size_t i = 0; i < c.size(); ++i)
            wrong += static_cast<T>(c[i]) != static_cast<T>(expected[i]);  // also what lies between the lines
        }
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("gemm edge: tiles with rows and columns missing are products and touch nothing else") {
  check_edge<2 * gemm_row_step, 2, float>(edge::packed);
  check_edge<2 * gemm_row_step, 2, double>(edge::after_others);
  check_edge<2, 4, float>(edge::after_others);
  check_edge<edge_rows, 1, float>(edge::at_the_end);
  check_edge<edge_rows, 1, double>(edge::at_the_end);
  check_edge<edge_rows, 1, float>(edge::after_others);
  check_edge<edge_rows, 1, float, kiln::half>(edge::packed);
  check_edge<2 * gemm_row_step, 2, float, kiln::half>(edge::packed);
}
