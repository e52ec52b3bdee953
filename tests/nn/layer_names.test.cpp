// SPDX-License-Identifier: BSL-1.0
// Layers' names in what they refuse.
#include <kiln/nn/layer_names.hpp>

#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/sequential.hpp>
#include <kiln/nn/summary.hpp>

#include <doctest/doctest.h>

#include <optional>

using namespace kiln;

namespace {

struct mlp {
  nn::Linear<float> fc1{4, 3}, fc2{5, 2};
  auto operator()(const auto& x) const { return fc2(Tensor<float>(fc1(x))); }
};

}  // namespace

TEST_CASE("layer_names: errors begin with the layer's name, while it lives") {
  const mlp net;
  const Tensor<float> x = ones<float>({2, 4});
  const char* const plain =
      "Linear(in_features=5, out_features=2, bias=True): got an input of shape [2, 3], whose axis -1 has the size 3; "
      "expected 5";
  CHECK_THROWS_WITH_AS(static_cast<void>(net(x)), plain, shape_error);
  {
    const nn::layer_names names(net);
    CHECK_THROWS_WITH_AS(static_cast<void>(net(x)), (std::string("fc2: ") + plain).c_str(), shape_error);
    const nn::Sequential other{nn::child("out", nn::Linear<float>{5, 2})};
    {
      const nn::layer_names more(other);
      CHECK_THROWS_WITH_AS(static_cast<void>(other(ones<float>({2, 3}))), (std::string("out: ") + plain).c_str(),
                           shape_error);
      CHECK_THROWS_WITH_AS(static_cast<void>(net(x)), (std::string("fc2: ") + plain).c_str(), shape_error);
    }
    CHECK_THROWS_WITH_AS(static_cast<void>(other(ones<float>({2, 3}))), plain, shape_error);
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(net(x)), plain, shape_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(nn::summary(net, {2, 4})), (std::string("fc2: ") + plain).c_str(),
                       shape_error);
}
