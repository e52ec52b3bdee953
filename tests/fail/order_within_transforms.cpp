// expect in 16 lines: roll has no meaning within vmap and jvp yet: roll what goes in or what comes out
// expect: repeat_interleave by a tensor has no meaning within vmap and jvp, where members would have different sizes
// SPDX-License-Identifier: BSL-1.0
// Functions of the order of elements that vmap and jvp do not have. (clang++ stops after 20 errors: not in
// within_transforms.cpp.)
#include <kiln/tensor/reorder.hpp>
#include <kiln/tensor/repeat.hpp>
#include <kiln/transform.hpp>

using namespace kiln;

void within(Tensor<float> a, Tensor<std::int64_t> i) {
#ifdef EXPECT_ERROR
  vmap([&](const auto& x) { return roll(x, {1}, {0}); })(a);
  vmap([&](const auto& x) { return repeat_interleave(x, i, 0); })(a);
#else
  vmap([&](const auto& x) { return flip(repeat_interleave(x, 2, 0)); })(roll(a, 1));
  (void)i;
#endif
}
