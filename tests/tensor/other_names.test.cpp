// SPDX-License-Identifier: BSL-1.0
// Names that are refused by sentences (tests/fail/names_of_torch.cpp): a program's own functions of these names come
// first, and asking whether a member exists refuses nothing.
#include <kiln/tensor/other_names.hpp>

#include <doctest/doctest.h>

#include <kiln/tensor/tensor.hpp>

namespace own {
template <class A, class B>
int mm(const A&, const B&) {
  return 1;
}
template <class X>
int shape(X) {
  return 2;
}
int numel(const auto&) {
  return 3;
}
}  // namespace own

TEST_CASE("other names: a program's own functions come first") {
  using namespace own;
  using namespace kiln;
  const Tensor<float> x{1, 2};
  CHECK(mm(x, x) == 1);
  CHECK(mm(x, 2) == 1);
  CHECK(shape(x) == 2);
  CHECK(numel(x) == 3);
  static_assert(requires { x.cpu(); });
}
