// SPDX-License-Identifier: BSL-1.0
// Tensors: making them, computing with them, looking at them.
#include <kiln/kiln.hpp>

#include <iostream>

using namespace kiln;

int main() {
  manual_seed(0);
  Tensor<float> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<float> row{10, 20, 30};

  std::cout << "a + row, broadcast:\n" << a + row << "\n";
  std::cout << "mean of each row:\n" << mean(a, 1) << "\n";
  std::cout << "softmax of each row:\n" << softmax(a, -1) << "\n";

  // A view shares its elements: what is written through it is seen in a.
  Tensor<float> first_column = select(a, 1, 0);
  first_column *= 100.0f;
  std::cout << "a after its first column was multiplied in place:\n" << a << "\n";

  std::cout << "a @ a^T:\n" << matmul(a, transpose(a, 0, 1)) << "\n";
  std::cout << "random numbers, the same on every run and at every number of threads:\n"
            << randn<float>({2, 4}) << "\n";

  try {
    Tensor<float> wrong = a + Tensor<float>{1, 2};
  } catch (const shape_error& e) {
    std::cout << "a mistake says what is wrong:\n" << e.what() << "\n";
  }
}
