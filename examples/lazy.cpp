// SPDX-License-Identifier: BSL-1.0
// What an expression is before it runs: a formula, and a tape that one kernel executes.
#include <kiln/expr/formula.hpp>
#include <kiln/kiln.hpp>

#include <iostream>

using namespace kiln;

int main() {
  manual_seed(0);
  const auto a = randn<float>({4}), b = randn<float>({4}), c = randn<float>({4});

  const auto y = relu(a * b + c) - 0.5f * tanh(a);  // nothing has run
  std::cout << "the expression: " << formula(y) << "\n\n";
  std::cout << "its tape, which one kernel runs with all values in registers:\n" << tape_listing(y) << "\n";
  std::cout << "the tape of its gradient, one kernel for all leaves:\n" << gradient_listing(y) << "\n";

  const Tensor<float> values = y;  // now it has
  std::cout << "its values: " << values << "\n\n";

  const auto x = randn<float>({2, 8});
  const auto centred = x - mean(x, -1, true);
  const auto norm = centred * rsqrt(mean(square(centred), -1, true) + 1e-5f);
  std::cout << "a norm made up on the spot: " << formula(norm) << "\n";
  std::cout << "is one row program, which reads x once:\n" << tape_listing(norm);
}
