// expect: sort, argsort, topk, kthvalue and median have no meaning within vmap and jvp yet: call them with an axis
// expect: cumsum and cumprod have no meaning within vmap and jvp yet: call them with an axis on the whole batch
// SPDX-License-Identifier: BSL-1.0
// Functions of lines along an axis that vmap and jvp do not have.
#include <kiln/kiln.hpp>
#include <kiln/transform.hpp>

using namespace kiln;

void within(Tensor<float> a) {
#ifdef EXPECT_ERROR
  vmap([](const auto& x) { return sort(x).values; })(a);
  jvp([](const auto& x) { return cumsum(x, 0); }, a, a);
#else
  vmap([](const auto& x) { return x * 2; })(sort(a).values);
#endif
}
