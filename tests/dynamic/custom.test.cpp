// SPDX-License-Identifier: BSL-1.0
// Functions with a gradient rule of the caller's.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/dynamic/custom.hpp>

using namespace kiln::dynamic;
using namespace test;

namespace {
/// x^3 + 2 y, whose rule is written out.
tensor cube_and_twice(const tensor& x, const tensor& y, int& calls) {
  const tensor result = [&] {
    const kiln::no_grad quiet;
    return call("add", {call("mul", {x, call("square", {x})}), call("mul", {y, scalar(2)})}).eval();
  }();
  return with_gradient(
      "cube_and_twice", result, {x, y},
      [&calls, x = x.detach()](const tensor& g) -> std::vector<tensor> {
        ++calls;
        return {call("mul", {g, call("mul", {scalar(3), call("square", {x})})}), call("mul", {g, scalar(2)})};
      },
      {x});
}
}  // namespace

TEST_CASE("a pass goes through a rule, which is one node among others") {
  int calls = 0;
  tensor x = made({2}, {2, -1}), y = made({2}, {1, 1});
  x.requires_grad_();
  const tensor z = call("exp", {call("mul", {cube_and_twice(x, y, calls), scalar(0.1)})});
  reduce("sum", z).backward();
  CHECK(calls == 1);
  const double a = std::exp(0.1 * 10) * 0.1 * 12, b = std::exp(0.1 * 1) * 0.1 * 3;
  CHECK(near(values(x.grad()), {a, b}));
  CHECK(!y.grad().defined());
  // x is met twice: gradients are added.
  x.zero_grad();
  y.requires_grad_();
  reduce("sum", call("add", {cube_and_twice(x, y, calls), call("mul", {x, scalar(5)})})).backward();
  CHECK(near(values(x.grad()), {17, 8}));
  CHECK(near(values(y.grad()), {2, 2}));
}

TEST_CASE("without a wanted gradient the result is as it is") {
  int calls = 0;
  const tensor x = made({1}, {2}), y = made({1}, {1});
  CHECK(!cube_and_twice(x, y, calls).requires_grad());
  tensor w = made({1}, {2});
  w.requires_grad_();
  const kiln::no_grad quiet;
  CHECK(!cube_and_twice(w, y, calls).requires_grad());
}

TEST_CASE("a rule that breaks its word is an error of the pass") {
  tensor x = made({2}, {2, -1});
  x.requires_grad_();
  const auto pass = [&](gradient_rule rule) {
    return said<kiln::error>([&] { reduce("sum", with_gradient("f", made({2}, {1, 1}), {x}, rule)).backward(); });
  };
  CHECK(holds(pass([](const tensor&) { return std::vector<tensor>{}; }), "0 gradients for 1 inputs"));
  CHECK(holds(pass([](const tensor&) { return std::vector<tensor>{made({3}, {1, 2, 3})}; }), "for input 0 of shape"));
  CHECK(holds(pass([](const tensor&) -> std::vector<tensor> { throw kiln::value_error("no rule today"); }),
              "no rule today"));
  CHECK(!x.grad().defined());
  // Gradients are converted to the input's type; an undefined one is none.
  CHECK(pass([](const tensor&) { return std::vector<tensor>{made({2}, {3, 4}, kiln::dtype::float64)}; }).empty());
  CHECK(near(values(x.grad()), {3, 4}));
  CHECK(pass([](const tensor&) { return std::vector<tensor>{tensor{}}; }).empty());
  int calls = 0;
  const tensor y = cube_and_twice(x, made({2}, {0, 0}), calls);
  {
    const kiln::no_grad quiet;
    x.fill_(1);
  }
  CHECK(holds(said<kiln::graph_error>([&] { reduce("sum", y).backward(); }), "changed in place"));
  const tensor again = cube_and_twice(x, made({2}, {0, 0}), calls);
  CHECK_THROWS_AS(reduce("sum", again).backward({}, false, true), kiln::graph_error);
  CHECK_THROWS_AS(with_gradient("f", made({1}, {1}, kiln::dtype::int64), {x}, nullptr), kiln::dtype_error);
}
