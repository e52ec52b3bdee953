// SPDX-License-Identifier: BSL-1.0
// The register width against what the compiler was told of.
#include <kiln/device/cpu/simd/width.hpp>

#include <doctest/doctest.h>

TEST_CASE("width: the register width is one that the compiler was told of") {
#if defined(__AVX512F__)
  CHECK(kiln::cpu::vector_bytes == 64);
#elif defined(__AVX__)
  CHECK(kiln::cpu::vector_bytes == 32);
#else
  CHECK(kiln::cpu::vector_bytes == 16);
#endif
}
