// SPDX-License-Identifier: BSL-1.0
// Gradients: mark a leaf, compute a number, call backward, read grad().
#include <kiln/kiln.hpp>

#include <iostream>

using namespace kiln;

int main() {
  Tensor<double> x{0.5, 1.0, 2.0};
  x.requires_grad();

  Tensor<double> loss = sum(x * log(x));
  backward(loss);
  std::cout << "d/dx sum(x log x) = log x + 1\n  by kiln:    " << x.grad()
            << "\n  by formula: " << log(x.detach()) + 1.0 << "\n";

  // A second pass adds; zero_grad() starts again.
  x.zero_grad();
  Tensor<double> y = x * x;
  backward(y, ones_like(y));
  std::cout << "d/dx x^2 = " << x.grad() << "\n";

  const no_grad quiet;  // nothing is recorded while it lives
  Tensor<double> untracked = x * x;
  std::cout << "recorded inside no_grad: " << (untracked.needs_grad() ? "yes" : "no") << "\n";
}
