// SPDX-License-Identifier: BSL-1.0
// The version that programs see is the one that the build system read out of the header.
#include <kiln/core/version.hpp>

#include <doctest/doctest.h>

#include <string>

TEST_CASE("version: the numbers in C++ are those that CMake read") {
  const auto text = std::to_string(kiln::version.major_part) + "." + std::to_string(kiln::version.minor_part) + "." +
                    std::to_string(kiln::version.patch_part);
  CHECK(text == KILN_TEST_PROJECT_VERSION);
}
