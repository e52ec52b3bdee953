// SPDX-License-Identifier: BSL-1.0
// One expression of 50 operations of many kinds, all fused into one kernel.
#include <kiln/kiln.hpp>

using kiln::Tensor;

Tensor<float> run(const Tensor<float>& a, const Tensor<float>& b, const Tensor<float>& c) {
  auto p = tanh(a * b + c) - exp(a - b) * sigmoid(c) + sqrt(abs(a)) / (1.0F + square(b));     // 13
  auto q = maximum(p, a) * minimum(p, b) + sin(c) * cos(a) - log1p(abs(b)) + 0.5F * p;        // 24
  auto r = sigmoid(q) * tanh(p) + exp(-square(q)) - floor(a * 3.0F) + rsqrt(1.0F + square(p));  // 37
  auto s = (r * a - q * b) / (1.0F + abs(r)) + erf(q) - atan(r) * 0.25F;                      // 47
  return s * r - q + p;                                                                       // 50
}
