// SPDX-License-Identifier: BSL-1.0
// Training that ends at a loss that is no number.
#include <kiln/nn/stop_on_nan.hpp>

#include <kiln/kiln.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/loss/regression.hpp>
#include <kiln/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace kiln;

namespace {

struct mlp {
  nn::Linear<float> fc1{2, 3}, fc2{3, 1};
  auto operator()(const auto& x) const { return fc2(Tensor<float>(fc1(x))); }
};
std::string said(nn::stop_on_nan<mlp>& stop, float loss) {
  try {
    stop(Tensor<float>{loss});
  } catch (const value_error& e) {
    return e.what();
  }
  return "";
}
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("stop_on_nan: names the step, and the layer whose numbers are not finite") {
  const mlp net;
  nn::stop_on_nan stop(net);
  CHECK((said(stop, 1.5f).empty() && said(stop, 0).empty() && stop.step() == 2));
  net.fc1.bias.data()[1] = 1e20f;
  CHECK(said(stop, not_a_number)
            .starts_with("stop_on_nan: in step 3 the loss is nan; all parameters are finite, the largest "
                         "those of fc1 (Linear), up to 1e+20 in fc1.bias: try a smaller rate"));
  backward(sum(net.fc2.weight * std::numeric_limits<float>::infinity()));
  CHECK(
      said(stop, std::numeric_limits<float>::infinity())
          .starts_with("stop_on_nan: in step 4 the loss is inf; fc2 (Linear) is the first with a gradient that is not "
                       "finite, of fc2.weight: "));
  net.fc2.weight.data()[0] = not_a_number;
  CHECK(said(stop, not_a_number)
            .starts_with("stop_on_nan: in step 5 the loss is nan; fc2 (Linear) holds numbers that are not finite, in "
                         "fc2.weight: "));
}

TEST_CASE("stop_on_nan: a rate that is too large ends with its sentence") {
  manual_seed(1);
  const mlp net;
  nn::stop_on_nan stop(net);
  optim::SGD opt(nn::parameters(net), {.lr = 1e3});
  const Tensor<float> x = ones<float>({4, 2}), y = zeros<float>({4, 1});
  const auto train = [&] {
    for (int step = 0; step < 100; ++step) {
      const Tensor<float> loss = nn::mse_loss(net(x), y);
      stop(loss);
      opt.zero_grad();
      backward(loss);
      opt.step();
    }
  };
  CHECK_THROWS_AS(train(), value_error);
  CHECK(stop.step() < 20);
}
