// SPDX-License-Identifier: BSL-1.0
// One expression of 50 operations of many kinds, all fused into one kernel.
#include <kiln/kiln.hpp>

using kiln::Tensor;

Tensor<float> run(const Tensor<float>& a, const Tensor<float>& b, const Tensor<float>& c) {
  auto p = tanh(a * b + c) - exp(a - b) * sigmoid(c);               // 8
  auto q = sqrt(abs(p)) / (1.0F + square(b)) + maximum(a, c);       // 14
  auto r = sin(q) * cos(a) - log1p(abs(b)) + 0.5F * minimum(b, c);  // 23
  auto s = rsqrt(1.0F + square(r)) - floor(a * 3.0F) * 0.125F;      // 29
  auto t = exp(-square(s)) + atan(b) * 0.25F - erf(c);              // 36
  auto u = sigmoid(t) * relu(a) + abs(b - c) / (2.0F + cos(c));     // 44
  return log1p(exp(-abs(u))) + maximum(a, 0.0F) - 1.0F;             // 50
}
