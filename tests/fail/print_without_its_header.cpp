// expect: to print tensors, #include <kiln/tensor/print.hpp>
// SPDX-License-Identifier: BSL-1.0
// << of tensors without the header that has it.
#include <kiln/ops/all.hpp>
#include <kiln/tensor/tensor.hpp>
#ifndef EXPECT_ERROR
#include <kiln/tensor/print.hpp>
#endif

#include <iostream>

void show(kiln::Tensor<float> a) {
  std::cout << a * a;
}
