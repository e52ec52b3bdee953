// SPDX-License-Identifier: BSL-1.0
// summary: its table, and that the module stays as it was.
#include <kiln/nn/summary.hpp>

#include <doctest/doctest.h>

#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/dropout.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/sequential.hpp>

using namespace kiln;

namespace {
struct Mlp {
  nn::Linear<float> fc1{784, 256};
  nn::ReLU act;
  nn::Dropout drop{0.5};
  nn::Linear<float> fc2{256, 10, {.bias = false}};
  auto operator()(const auto& x) { return fc2(drop(act(fc1(x)))); }
};
}  // namespace

TEST_CASE("summary: layers, sizes, parameters, bytes") {
  Mlp net;
  CHECK(nn::summary(net, {64, 784}) == R"(layer          output     parameters    bytes
fc1: Linear    [64, 256]     200,960  803,840
act: ReLU      [64, 256]           0        0
drop: Dropout  [64, 256]           0        0
fc2: Linear    [64, 10]        2,560   10,240
---------------------------------------------
total                        203,520  814,080
)");
  CHECK(net.drop.training.on);
  CHECK_FALSE(net.fc1.weight.has_grad());
  CHECK_THROWS_AS(nn::summary(net, {64, 100}), shape_error);
}

TEST_CASE("summary: a layer alone, and weights that are shared") {
  const nn::Linear<double> one{2, 3};
  CHECK(nn::summary(one, {5, 2}) == R"(layer   output  parameters  bytes
Linear  [5, 3]           9     72
---------------------------------
total                    9     72
)");
  nn::Linear<float> a{2, 2, {.bias = false}};
  CHECK(nn::summary(nn::Sequential{a, nn::ReLU{}, a}, {1, 2}).find("4     16\n") !=
        std::string::npos);
}
