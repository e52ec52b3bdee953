// SPDX-License-Identifier: BSL-1.0
// The README's first program: a product, a fused epilogue and loss, and their gradients.
#include <kiln/kiln.hpp>

using namespace kiln;

void run(const Tensor<float>& x, const Tensor<float>& t, Tensor<float>& w, const Tensor<float>& b) {
  auto y = sigmoid(matmul(x, w) + b);
  Tensor<float> loss = mean(square(y - t));
  backward(loss);
  w -= 0.1F * w.grad();
}
