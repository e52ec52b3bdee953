// SPDX-License-Identifier: BSL-1.0
// Modules of modules: order, names, shared parameters, conversion.
#include <kiln/nn/layers/sequential.hpp>

#include <doctest/doctest.h>

#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/module.hpp>

using namespace kiln;

TEST_CASE("Sequential: one after the other, with PyTorch's names or given ones") {
  nn::Sequential net{nn::Linear<float>{2, 3}, nn::child("act", nn::ReLU{}), nn::Linear<float>{3, 1}};
  std::string names;
  for (const auto& [name, tensor] : nn::named_parameters(net)) names += name + " ";
  CHECK(names == "0.weight 0.bias 2.weight 2.bias ");
  CHECK(nn::modules(net).at(2).name == "act");
  net.get<0>().weight.copy_(Tensor<float>{{1, 0}, {0, -1}, {1, 1}});
  net.get<0>().bias.fill_(0.5f);
  net.get<2>().weight.copy_(Tensor<float>{{1, 10, 100}});
  net.get<2>().bias.fill_(0);
  const Tensor<float> y = net(Tensor<float>{{1, 2}});  // relu(1.5, -1.5, 3.5)
  CHECK(y(0, 0) == 351.5f);
  const auto wide = nn::to<double>(net);
  const Tensor<double> z = wide(Tensor<double>{{1, 2}});
  CHECK(z(0, 0) == 351.5);
  CHECK(nn::modules(wide).at(2).name == "act");
  auto copy = nn::clone(net);
  copy.get<2>().bias.fill_(1);
  CHECK(net.get<2>().bias(0) == 0);
}

TEST_CASE("Parallel, Residual, Identity, Lambda") {
  const Tensor<float> x{{1, 2}};
  const nn::Parallel both{nn::Identity{}, nn::Lambda{[](const auto& a) { return a * 10; }}};
  const auto [same, tens] = both(x);
  const Tensor<float> times = tens;
  CHECK(same(0, 1) == 2);
  CHECK(times(0, 1) == 20);
  const nn::Residual around{nn::Lambda{[](const auto& a) { return a * a; }}};
  const Tensor<float> y = around(x);
  CHECK(y(0, 1) == 6);
  CHECK(nn::parameters(nn::Residual{nn::Linear<float>{2, 2}}).size() == 2);
  CHECK(nn::named_parameters(nn::Residual{nn::Linear<float>{2, 2}})[0].first == "module.weight");
}
