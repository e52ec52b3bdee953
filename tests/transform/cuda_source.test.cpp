// SPDX-License-Identifier: BSL-1.0
// source<Cuda> of functions of plain numbers: the kernel over all elements of a tensor.
#include <kiln/transform/cuda_source.hpp>

#include <doctest/doctest.h>

using namespace kiln;

TEST_CASE("source<Cuda>: a function is one kernel, and so is its derivative") {
  const auto relu3 = [](auto x) { return where(x < 0, 0, where(x < 1, x * x * x / 3, x - 2.0 / 3)); };
  const std::string value = source<Cuda>(relu3), slope = source<Cuda>(grad(relu3));
  CHECK(value.starts_with("// where(x0 < 0, 0, where(x0 < 1, x0 * x0 * x0 / 3, x0 - 0.6666667))\n"));
  for (const std::string& text : {value, slope}) {
    CHECK(text.find("__global__") == text.rfind("__global__"));
    CHECK(text.find("load_vector<4>(x0") != std::string::npos);
    CHECK(text.find("store_vector(y0") != std::string::npos);
  }
  CHECK(value.find(" / n3") != std::string::npos);
  CHECK(slope.find("v14 = where(v4, v13, 1.0f)") != std::string::npos);
  CHECK(source<Cuda, double, double>([](auto x, auto y) { return x * y; }).find("const double* __restrict__ x1") !=
        std::string::npos);
}
