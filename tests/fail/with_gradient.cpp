// expect: with_gradient: a result of an integer type has no gradient
// expect: with_gradient has no meaning within vmap and jvp yet: write the function of ops, or call
// expect: with_gradient needs tensors of the result's device as inputs and to keep: evaluate expressions
// expect: the rule of with_gradient has to return a gradient for each input, in a std::tuple if there are
// expect: the rule of with_gradient gives a gradient for an input of an integer type: return
// expect: a gradient that the rule of with_gradient returns is a tensor or expression of the input's
// SPDX-License-Identifier: BSL-1.0
// Rules that do not fit what they are a rule of, and a place where none can be.
#include <kiln/kiln.hpp>
#include <kiln/transform.hpp>

using namespace kiln;

void rules(const Tensor<float>& x, const Tensor<int>& i) {
  const auto pass = [](const auto& g) { return g; };
#ifdef EXPECT_ERROR
  with_gradient("steps", cast<int>(x), std::tie(x), pass);
  vmap([&](const auto& each) { return with_gradient("of_a_member", each, std::tie(each), pass); })(x);
  const auto lazy = x * 2;
  with_gradient("of_an_expression", x * 4, std::tie(lazy), pass);
  with_gradient("one_of_two", x * x, std::tie(x, x), pass);
  with_gradient("of_integers", x * cast<float>(i), std::tie(x, i), [](const auto& g) { return std::tuple(g, g); });
  with_gradient("number", x * 1, std::tie(x), [](const auto&) { return 1.0; });
#else
  with_gradient("of_an_expression", x * 4, std::tie(x), pass);
  (void)i;
#endif
}
