// SPDX-License-Identifier: BSL-1.0
// Modules in print: the texts are those of PyTorch for the same modules.
#include <kiln/nn/print.hpp>

#include "support/grouping_locale.hpp"

#include <doctest/doctest.h>

#include <vector>

#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/dropout.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/sequential.hpp>
#include <kiln/nn/layers/shape.hpp>

using namespace kiln;

namespace {
struct Block {
  nn::Linear<float> fc{2, 3};
  nn::PReLU<float> act;
  auto operator()(const auto& x) const { return act(fc(x)); }
};
struct Net {
  Block first;
  std::vector<nn::Linear<float>> same;
  nn::GELU gelu;
  auto operator()(const auto& x) const { return gelu(first(x)); }
};
}  // namespace

TEST_CASE("print: modules within modules, lists of equal ones") {
  Net net;
  for (int i = 0; i < 3; ++i) net.same.push_back({3, 3, {.bias = false}});
  CHECK(nn::to_string(net) == R"(Net(
  (first): Block(
    (fc): Linear(in_features=2, out_features=3, bias=True)
    (act): PReLU(num_parameters=1)
  )
  (same): ModuleList(
    (0-2): 3 x Linear(in_features=3, out_features=3, bias=False)
  )
  (gelu): GELU(approximate='none')
))");
}

TEST_CASE("print: settings") {
  const kiln_tests::grouping_locale german;  // makes no difference
  CHECK(nn::to_string(nn::ELU{}) == "ELU(alpha=1.0)");
  CHECK(nn::to_string(nn::LeakyReLU{}) == "LeakyReLU(negative_slope=0.01)");
  CHECK(nn::to_string(nn::Softshrink{}) == "Softshrink(0.5)");
  CHECK(nn::to_string(nn::Softplus{}) == "Softplus(beta=1.0, threshold=20.0)");
  CHECK(nn::to_string(nn::Hardtanh{}) == "Hardtanh(min_val=-1.0, max_val=1.0)");
  CHECK(nn::to_string(nn::ReLU{}) == "ReLU()");
  CHECK(nn::to_string(nn::Flatten{}) == "Flatten(start_dim=1, end_dim=-1)");
  CHECK(nn::to_string(nn::Unflatten{1, {2, 3}}) == "Unflatten(dim=1, unflattened_size=(2, 3))");
  CHECK(nn::to_string(nn::Dropout{0.2}) == "Dropout(p=0.2, inplace=False)");
  CHECK(nn::to_string(nn::Bilinear<float>{1, 2, 3}) ==
        "Bilinear(in1_features=1, in2_features=2, out_features=3, bias=True)");
}
