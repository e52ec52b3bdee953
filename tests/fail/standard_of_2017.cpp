// expect: kiln needs C++20: compile with -std=c++20
// with: -std=c++17
// SPDX-License-Identifier: BSL-1.0
// An older standard, as some compilers take by themselves.
#include <kiln/kiln.hpp>

int main() {
  return kiln::Tensor<float>{1, 2}.dim();
}
