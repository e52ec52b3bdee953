// SPDX-License-Identifier: BSL-1.0
// Stacks of matrices: strides read from tensors, batches that broadcast, results summed over batches, blocks finished.
#include <doctest/doctest.h>

#include <tuple>
#include <vector>

#include <kiln/device/cpu/products/multiply.hpp>
#include <kiln/device/eigen/multiply.hpp>
#include <kiln/tensor/multiply.hpp>

using namespace kiln;
using detail::matrix_stack;

namespace {

matrix_stack stack_of(const dims& sizes, bool left) {
  return detail::as_matrices(*new_state(dtype::float64, sizes, contiguous_strides(sizes)), left);
}

}  // namespace

TEST_CASE("multiply: tensors seen as matrices") {
  const matrix_stack row = stack_of({5}, true), column = stack_of({5}, false);
  CHECK(row.rows == 1);
  CHECK(row.columns == 5);
  CHECK(column.rows == 5);
  CHECK(column.columns == 1);
  const matrix_stack m = stack_of({2, 3, 4, 5}, true), t = detail::transposed(m);
  CHECK(m.batch == dims{2, 3});
  CHECK(m.batch_strides == dims{60, 20});
  CHECK(t.rows == 5);
  CHECK(t.row_stride == 1);
  CHECK(t.column_stride == 5);
}

TEST_CASE("multiply: batches that the result lacks are added up, onto what is there if asked") {
  const std::vector<double> a{1, 2, 3, 4, 5, 6}, b{1, 10, 100, 1000, 10000, 100000};  // [3, 1, 2] and [3, 2, 1]
  const matrix_stack left = stack_of({3, 1, 2}, true), right = stack_of({3, 2, 1}, false);
  matrix_stack out;
  for (const bool accumulate : {false, true}) {
    double result = 0.5;
    cpu::multiply<double>(left, a.data(), right, b.data(), out, &result, accumulate);
    CHECK(result == 1 + 20 + 300 + 4000 + 50000 + 600000 + (accumulate ? 0.5 : 0));
  }
  out.batch = {0};
  out.batch_strides = {1};
  double untouched = 7;
  cpu::multiply<double>(stack_of({0, 1, 2}, true), a.data(), stack_of({1, 2, 1}, false), b.data(), out, &untouched,
                        false);
  CHECK(untouched == 7);
  matrix_stack sum;  // over no batches at all: zero
  cpu::multiply<double>(stack_of({0, 1, 2}, true), a.data(), stack_of({1, 2, 1}, false), b.data(), sum, &untouched,
                        false);
  CHECK(untouched == 0);
}

TEST_CASE("multiply: stacks that hold nothing have axes of any length") {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const matrix_stack nothing = stack_of({huge, huge, 0, 4, 4}, true), long_rows = stack_of({0, huge, 4}, true),
                     long_columns = stack_of({0, 4, huge}, false);
  double untouched = 7, summed[16] = {};
  cpu::multiply<double>(nothing, nullptr, nothing, nullptr, nothing, &untouched, false);
  eigen::multiply<double>(nothing, nullptr, nothing, nullptr, nothing, &untouched, false, {});
  for (const bool transposed : {false, true}) {
    const matrix_stack a = transposed ? detail::transposed(long_columns) : long_rows;
    matrix_stack out = stack_of({0, huge, huge}, true);
    cpu::multiply<double>(a, nullptr, long_columns, nullptr, out, &untouched, false);
    eigen::multiply<double>(a, nullptr, long_columns, nullptr, out, &untouched, false, {});
  }
  CHECK(untouched == 7);
  const matrix_stack sum{4, 4, 4, 1, {}, {}};
  for (double& x : summed) x = 7;
  cpu::multiply<double>(nothing, nullptr, nothing, nullptr, sum, summed, true);
  CHECK(summed[15] == 7);
  cpu::multiply<double>(nothing, nullptr, nothing, nullptr, sum, summed, false);
  CHECK(summed[0] == 0);
  CHECK(summed[15] == 0);
  summed[15] = 7;
  eigen::multiply<double>(nothing, nullptr, nothing, nullptr, sum, summed, false, {});
  CHECK(summed[15] == 0);
}

TEST_CASE("multiply: matrices that continue one another are one sum, and others are added one by one") {
  // A^T B summed over 3 batches, the matrices of A without and with a row between them.
  for (const std::int64_t gap : {0, 1})
    for (const bool accumulate : {false, true}) {
      const std::int64_t k = 5, m = 4, n = 3, batches = 3;
      std::vector<double> a(static_cast<std::size_t>(batches * (k + gap) * m)),
          b(static_cast<std::size_t>(batches * k * n));
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i * 7 % 11);
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i * 5 % 13);
      const matrix_stack left{m, k, 1, m, {batches}, {(k + gap) * m}}, right = stack_of({3, 5, 3}, false),
                                                                       out{m, n, n, 1, {}, {}};
      std::vector<double> c(12, 0.5), expected(12, accumulate ? 0.5 : 0);
      for (std::int64_t i = 0; i < batches; ++i)
        for (std::int64_t r = 0; r < m; ++r)
          for (std::int64_t s = 0; s < n; ++s)
            for (std::int64_t q = 0; q < k; ++q)
              expected[static_cast<std::size_t>(r * n + s)] +=
                  a[static_cast<std::size_t>(i * (k + gap) * m + q * m + r)] *
                  b[static_cast<std::size_t>((i * k + q) * n + s)];
      cpu::multiply<double>(left, a.data(), right, b.data(), out, c.data(), accumulate);
      CHECK(c == expected);
    }
}
