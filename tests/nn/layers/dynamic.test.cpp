// SPDX-License-Identifier: BSL-1.0
// DynamicSequential: order, names, parameters, training, copies.
#include <kiln/nn/layers/dynamic.hpp>

#include <doctest/doctest.h>

#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/dropout.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/nn/print.hpp>

using namespace kiln;

namespace {
struct Net {
  nn::DynamicSequential<float> body;
  auto operator()(const auto& x) const { return body(x); }
};
}  // namespace

TEST_CASE("DynamicSequential: modules of several types, as many as are added") {
  Net net;
  for (int i = 0; i < 2; ++i) net.body.add(nn::Linear<float>{2, 2});
  net.body.add(nn::ReLU{}, "act").add(nn::Dropout{1.0});
  std::string names;
  for (const auto& [name, p] : nn::named_parameters(net)) {
    names += name + " ";
    Tensor<float> values = p;
    values.fill_(name.ends_with("bias") ? 1.0f : 2.0f);
  }
  CHECK(names == "body.0.weight body.0.bias body.1.weight body.1.bias ");
  const Tensor<float> x{{1, 1}};
  CHECK(net(x)(0, 0) == 0);  // all is dropped
  nn::eval(net);
  CHECK(net(x)(0, 0) == 21);  // 2 (2 + 2 + 1) twice, and 1
  CHECK(nn::to_string(net) == R"(Net(
  (body): Sequential(
    (0): Linear(in_features=2, out_features=2, bias=True)
    (1): Linear(in_features=2, out_features=2, bias=True)
    (act): ReLU()
    (3): Dropout(p=1.0, inplace=False)
  )
))");
}

TEST_CASE("DynamicSequential: a copy shares its modules, a clone does not") {
  nn::DynamicSequential<float> one;
  one.add(nn::Linear<float>{1, 1});
  const auto same = one;
  const auto other = nn::clone(one);
  nn::parameters(one)[1].fill_(5);
  CHECK(nn::parameters(same)[1](0) == 5);
  CHECK(nn::parameters(other)[1](0) != 5);
  CHECK(nn::parameters(other)[1].needs_grad());
  CHECK(nn::DynamicSequential<float>()(ones<float>({2})).sizes() == dims{2});
}
