// SPDX-License-Identifier: BSL-1.0
// Where cuBLASLt and cuDNN are looked for, and the error where they are not.
#include <kiln/device/cuda/libraries/library_products.hpp>

#include <doctest/doctest.h>

#include <string_view>

using namespace std::string_view_literals;

TEST_CASE("a version that is newer than the driver is not considered") {
  CHECK(kiln::cuda::cublaslt_library(12020).files.size() == 1);
  CHECK(kiln::cuda::cublaslt_library(12020).files[0] == "libcublasLt.so.12"sv);
  CHECK(kiln::cuda::cublaslt_library(13000).files[0] == "libcublasLt.so.13"sv);
  CHECK(kiln::cuda::cublaslt_library(12090).files[0] == "libcublasLt.so.12"sv);
  CHECK(kiln::cuda::cudnn_library().files[0] == "libcudnn.so.9"sv);
}

TEST_CASE("each library has a variable of its own, and a mistake in it is an error every time") {
  for (const char* variable : {"KILN_LIBCUBLASLT", "KILN_LIBCUDNN"}) {
    ::setenv(variable, "/nowhere/lib.so", 1);
  }
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(kiln::cuda::cublaslt(), doctest::Contains("KILN_LIBCUBLASLT names /nowhere"),
                         kiln::device_error);
    CHECK_THROWS_WITH_AS(kiln::cuda::cudnn(), doctest::Contains("KILN_LIBCUDNN names"), kiln::device_error);
  }
}
