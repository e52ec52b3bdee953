// SPDX-License-Identifier: BSL-1.0
// The umbrella: the first program of the README as a user writes it, with its gradients written out by hand.
#include <kiln/kiln.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

TEST_CASE("one include is enough for a model, its gradient and a step") {
  using namespace kiln;
  manual_seed(1);
  constexpr int n = 16, in = 12, out = 5;
  Tensor<float> x = randn<float>({n, in}), t = rand<float>({n, out});
  Tensor<float> w = 0.05f * randn<float>({in, out}), b = zeros<float>({out});
  w.requires_grad();
  b.requires_grad();
  auto y = sigmoid(matmul(x, w) + b);
  Tensor<float> loss = mean(square(y - t));
  backward(loss);

  std::vector<double> dw(in * out, 0.0), db(out, 0.0);
  double expected = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < out; ++j) {
      double z = static_cast<double>(b(j));
      for (int k = 0; k < in; ++k) z += static_cast<double>(x(i, k)) * static_cast<double>(w(k, j));
      const double s = 1 / (1 + std::exp(-z)), error = s - static_cast<double>(t(i, j));
      expected += error * error / (n * out);
      const double g = 2 * error * s * (1 - s) / (n * out);
      db[static_cast<std::size_t>(j)] += g;
      for (int k = 0; k < in; ++k) dw[static_cast<std::size_t>(k * out + j)] += g * static_cast<double>(x(i, k));
    }
  CHECK(static_cast<double>(loss.item()) == doctest::Approx(expected).epsilon(1e-6));
  for (int j = 0; j < out; ++j) {
    CHECK(static_cast<double>(b.grad()(j)) == doctest::Approx(db[static_cast<std::size_t>(j)]).epsilon(1e-5));
    for (int k = 0; k < in; ++k)
      CHECK(std::abs(static_cast<double>(w.grad()(k, j)) - dw[static_cast<std::size_t>(k * out + j)]) < 1e-7);
  }

  const float before = w(3, 2);
  w -= 0.1f * w.grad();
  CHECK(w(3, 2) == doctest::Approx(before - 0.1f * static_cast<float>(dw[3 * out + 2])).epsilon(1e-5));
  CHECK(w.needs_grad());
}

TEST_CASE("everything that the umbrella promises has a name") {
  using namespace kiln;
  const Tensor<float> x{{3, 1, 2}, {6, 5, 4}};
  CHECK(cat({x, x}, 1).sizes() == dims{2, 6});
  CHECK(argmax(x, 1)(1) == 0);
  CHECK(one_hot<float>(argmax(x, 1), 3)(0, 0) == 1);
  CHECK(to_string(x.select(0, 0)) == "tensor([3., 1., 2.])");
  CHECK(arange(3).numel() + randint(9, {2}).numel() + eye(2).numel() == 9);
  CHECK(KILN_VERSION_MAJOR >= 0);
}
