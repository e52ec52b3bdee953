// SPDX-License-Identifier: BSL-1.0
// Linear regression by gradient descent: finds the weights that made the data.
#include <kiln/kiln.hpp>

#include <cmath>
#include <cstdio>

using namespace kiln;

int main() {
  manual_seed(1);
  const auto x = randn<float>({256, 3});
  const Tensor<float> truth{{2}, {-1}, {0.5}};
  const Tensor<float> y = matmul(x, truth) + 0.3f + 0.01f * randn<float>({256, 1});

  auto w = zeros<float>({3, 1}), b = zeros<float>({1});
  w.requires_grad();
  b.requires_grad();
  for (int step = 0; step <= 200; ++step) {
    const Tensor<float> loss = mean(square(matmul(x, w) + b - y));
    w.zero_grad();
    b.zero_grad();
    backward(loss);
    w -= 0.1f * w.grad();
    b -= 0.1f * b.grad();
    if (step % 50 == 0) std::printf("step %3d  loss %.6f\n", step, static_cast<double>(loss.item()));
  }
  std::printf("w = %.2f %.2f %.2f (made with 2, -1, 0.5)  b = %.2f (0.3)\n", static_cast<double>(w(0, 0)),
              static_cast<double>(w(1, 0)), static_cast<double>(w(2, 0)), static_cast<double>(b(0)));
  return std::abs(w(0, 0) - 2) < 0.05f && std::abs(b(0) - 0.3f) < 0.05f ? 0 : 1;
}
