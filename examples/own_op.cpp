// SPDX-License-Identifier: BSL-1.0
// An op of one's own: one record, written from primitives. It fuses with what stands around it and has a gradient.
#include <kiln/autograd/check_gradient.hpp>
#include <kiln/kiln.hpp>

#include <iostream>

using namespace kiln;

/// (x + sqrt(x^2 + b)) / 2, a smooth relu (Barron 2021).
struct squareplus_op : floating<2> {
  static constexpr std::string_view name = "squareplus";
  static constexpr bool composite = true;
  static constexpr auto value(auto x, auto b) { return 0.5 * (x + sqrt(x * x + b)); }
};
template <Operand X>
auto squareplus(X x, double b = 4) {
  return apply<squareplus_op>(std::move(x), b);
}

int main() {
  Tensor<double> x{-2, -1, 0, 1, 2};
  std::cout << "squareplus(x) = " << squareplus(x) << "\n";
  std::cout << "fused with more: " << sum(squareplus(2.0 * x) + 1.0) << "\n";

  x.requires_grad();
  Tensor<double> loss = sum(squareplus(x));
  backward(loss);
  std::cout << "gradient = " << x.grad() << "\n";
}
