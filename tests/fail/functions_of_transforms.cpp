// expect: within vmap and jvp a tensor stands for many and is not printed: print what goes into the
// expect: within vmap and jvp a tensor has no memory of its own: x[i] and x(i, j) are its elements
// expect: requires_grad has no meaning within vmap and jvp: the gradient of a function f there is grad(f)
// expect: backward has no meaning within vmap and jvp: the gradient of a function f there is grad(f)
// expect: nothing is written in place within vmap and jvp: name the new values, x = x + 1, or choose
// expect: within vmap and jvp tensors have other types: declare them as `auto`, auto y =
// expect: the function of vmap does not take these arguments: it is called with as many as the mapped one
// expect: the function of vmap returns nothing: write return before its value
// expect: the function to be differentiated returns nothing: write return before its value
// expect: the function to be differentiated returns nothing: write return before its value
// expect: a function of plain numbers is called with what records them, once for each argument: take them as `auto`
// expect: jvp takes the arguments and their tangents: jvp(f, x, dx)
// SPDX-License-Identifier: BSL-1.0
// Functions that vmap, grad and jvp cannot call, or that do there what has no meaning.
#include <kiln/kiln.hpp>
#include <kiln/transform.hpp>

#include <iostream>

using namespace kiln;

void within(Tensor<float> a) {
#ifdef EXPECT_ERROR
  vmap([&](const auto& x) { std::cout << x; return x; })(a);
  vmap([&](const auto& x) { return x * *x.data(); })(a);
  vmap([&](auto x) { return x.requires_grad() * 2; })(a);
  vmap([&](const auto& x) { backward(sum(x)); return x; })(a);
  vmap([&](auto x) { x(0) = 1; return x; })(a);
  vmap([&](const auto& x) { Tensor<float> y = x * 2; return y; })(a);
  vmap([&](const auto& x, const auto& y) { return x + y; })(a);
  vmap([&](const auto& x) { (void)(x * 2); })(a);
  grad([&](const auto& x) { (void)(x * 2); })(a);
  grad([](auto x) { (void)(x * 2); })(2.0f);
  grad([](float x) { return x * x; })(2.0f);
  jvp([](const auto& x) { return x * x; }, a);
#else
  vmap([&](const auto& x) { return x.contiguous() * x(0) + x.sum(0); })(a);
  grad([](auto x) { return x * x; })(2.0f);
  jvp([](const auto& x) { return x * x; }, a, a);
#endif
}
