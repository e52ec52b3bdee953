// expect: einsum has no meaning within vmap and jvp yet: write the batch as a letter of the equation
// expect: the operands of einsum have one element type and device: cast<T>() or .to<Device>() them
// expect: einsum is not defined for bool: cast<T>() to a number type
// SPDX-License-Identifier: BSL-1.0
// Operands that einsum does not take.
#include <kiln/kiln.hpp>
#include <kiln/transform/vmap.hpp>

using namespace kiln;

void sums(const Tensor<float>& a, const Tensor<double>& b, const Tensor<bool>& mask) {
#ifdef EXPECT_ERROR
  vmap([](const auto& each) { return einsum("ij->j", each); })(a);
  einsum("i,i", a, b);
  einsum("i->", mask);
#else
  einsum("bij->bj", a), einsum("i,i", cast<double>(a), b), einsum("i->", cast<int>(mask));
#endif
}
