// SPDX-License-Identifier: BSL-1.0
// source<Cuda>: the text that would run, without a device.
#include <kiln/cuda.hpp>

#include <doctest/doctest.h>

using namespace kiln;

TEST_CASE("source: an expression is one kernel that opens with its formula and reads each tensor once") {
  const Tensor<float> x = ones<float>({64, 1024}), w = ones<float>({1024});
  const std::string text = source<Cuda>(layer_norm(x, 1) * w + gelu(x));
  CHECK(text.starts_with("// layer_norm(x0, "));
  CHECK(text.find(") * x1 + gelu(x0)\n") < 50);
  const auto count = [&](std::string_view what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  CHECK(count("__global__") == 1);
  CHECK(count("load_vector<4>(x0") == 1);
  CHECK(count("load_vector<4>(x1") == 1);
  CHECK(count("store_vector(y0") == 1);
}

TEST_CASE("source: reductions over everything, products and nested reductions say what else runs") {
  const Tensor<float> x = ones<float>({512, 512});
  const std::string total = source<Cuda>(mean(square(x)));
  CHECK(total.find("kiln_reduce_all") != std::string::npos);
  CHECK(total.find("_per_row") == std::string::npos);  // nothing else runs
  CHECK(source<Cuda>(relu(matmul(x, x))).find("Products come from cuBLASLt") != std::string::npos);
  CHECK(source<Cuda>(matmul(x, x)).find("by cuBLASLt") != std::string::npos);
  CHECK(source<Cuda>(sum(max(x, 1))).find("Not one kernel") != std::string::npos);
}
