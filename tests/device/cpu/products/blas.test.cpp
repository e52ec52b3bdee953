// SPDX-License-Identifier: BSL-1.0
// Which operands a BLAS is given. That its products are right is what gemm.test.cpp shows, built with KILN_CBLAS or
// KILN_ONEDNN.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include <kiln/device/cpu/products/blas.hpp>

using namespace kiln::cpu::detail;

TEST_CASE("blas: rows and columns that are contiguous are operands, plain and transposed") {
  const auto plain = blas_layout_of(3, 5, 7, 1);
  CHECK(plain.fits);
  CHECK(!plain.transposed);
  CHECK(plain.stride == 7);
  const auto transposed = blas_layout_of(3, 5, 1, 4);
  CHECK(transposed.fits);
  CHECK(transposed.transposed);
  CHECK(transposed.stride == 4);
}

TEST_CASE("blas: what it cannot express is left to gemm") {
  CHECK(!blas_layout_of(3, 5, 10, 2).fits);  // two strides
  CHECK(!blas_layout_of(3, 5, 0, 1).fits);   // a broadcast row
  CHECK(!blas_layout_of(3, 5, -5, 1).fits);  // rows backwards
  CHECK(!blas_layout_of(3, 5, 4, 1).fits);   // rows that overlap
  CHECK(!blas_layout_of(3, 5, std::int64_t{std::numeric_limits<int>::max()} + 1, 1).fits);
}

TEST_CASE("blas: a library takes products only where the build names one") {
  const std::vector<float> a(4, 1.0F), b(4, 1.0F);
  std::vector<float> c(4, 0.0F);
  const gemm_problem<float> p{2, 2, 2, a.data(), 2, 1, b.data(), 2, 1, c.data(), 2, 1, false, {}};
  CHECK(gemm_by_blas(p) == has_blas<float>);
  for (float x : c) CHECK(x == (has_blas<float> ? 2.0F : 0.0F));
}
