// SPDX-License-Identifier: BSL-1.0
// with_gradient: functions with a rule of the caller's, against closed forms and differences.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include <autograd/orders.hpp>
#include <kiln/autograd/with_gradient.hpp>
#include <support/said.hpp>

using namespace orders;
using test::holds;
using test::said;

namespace {

// x^3 w, computed element by element, outside of kiln.
Doubles cube_times(const Doubles& x, const Doubles& w, int& calls) {
  Doubles y = zeros<double>(x.sizes());
  for (std::int64_t i = 0; i < x.numel(); ++i) y.data()[i] = std::pow(x.data()[i], 3) * w.data()[i];
  return with_gradient("cube_times", y, std::tie(x, w), std::tie(x, w),
                       [&](const auto& g, const auto& a, const auto& b) {
                         ++calls;
                         return std::tuple(3 * square(a) * b * g, a * a * a * g);
                       });
}

bool holds(const Doubles& x, std::initializer_list<double> expected) {
  bool same = x.numel() == static_cast<std::int64_t>(expected.size());
  for (std::int64_t i = 0; same && i < x.numel(); ++i) same = near(x.data()[i], expected.begin()[i]);
  return same;
}

}  // namespace

TEST_CASE("with_gradient: a pass goes through the rule, and adds for an input that is met twice") {
  int calls = 0;
  Doubles x{2, -1}, w{1, 4};
  x.requires_grad();
  const Doubles y = cube_times(x, w, calls);
  backward(Doubles(sum(exp(0.1 * y) + 5 * x)));
  CHECK(calls == 1);
  CHECK(holds(x.grad(), {std::exp(0.8) * 0.1 * 12 + 5, std::exp(-0.4) * 0.1 * 12 + 5}));
  CHECK_FALSE(w.has_grad());
  w.requires_grad();
  backward(Doubles(sum(cube_times(x, w, calls))));
  CHECK(holds(w.grad(), {8, -1}));
}

TEST_CASE("with_gradient: a rule is differentiated itself, to any order") {
  const Doubles x{2, -1, 0.5}, w{1, 4, -2};
  int calls = 0;
  for (int order = 2; order <= 3; ++order)
    CHECK(difference([&](const auto& in) { return cube_times(in[0], in[1], calls); }, {x, w}, order) == "");
  // By what it made, which is kept without holding itself.
  CHECK(difference(
            [](const auto& in) {
              const Doubles y = [&] {
                const no_grad quiet;
                return Doubles(exp(in[0]));
              }();
              return with_gradient("exp", y, std::tie(in[0]), std::tie(y),
                                   [](const auto& g, const auto& e) { return g * e; });
            },
            {x}, 3) == "");
}

TEST_CASE("with_gradient: another gradient than the function's own") {
  Doubles x{0.4, 1.7};
  x.requires_grad();
  // Straight through, and a sign turned around.
  backward(Doubles(sum(square(with_gradient("round", round(x), std::tie(x), [](const auto& g) { return g; })))));
  CHECK(holds(x.grad(), {0, 4}));
  x.zero_grad();
  const Doubles same = with_gradient("reverse", x, std::tie(x), [](const auto& g) { return -g; });
  CHECK(same.data() == x.data());
  backward(Doubles(sum(3 * same)));
  CHECK(holds(x.grad(), {-3, -3}));
}

TEST_CASE("with_gradient: inputs without a gradient, of other types, and gradients of other types") {
  Tensor<float> x{1, 2, 3};
  x.requires_grad();
  const Tensor<std::int64_t> scale{2, 3, 4};
  const Doubles y =
      with_gradient("scaled", cast<double>(x) * cast<double>(scale), std::tie(x, scale), std::tie(scale),
                    [](const auto& g, const auto& s) { return std::tuple(g * cast<double>(s), std::nullopt); });
  backward(Doubles(sum(y)));
  CHECK(x.grad().data()[2] == 4);
  x.zero_grad();
  // Nobody asks for the second gradient: its expression, which divides by zero, is not evaluated.
  const Tensor<float> b{1, 2, 3};
  const Tensor<int> one{1, 1, 1}, zero{0, 0, 0};
  const Tensor<float> z = with_gradient("first", x + b, std::tie(x, b),
                                        [&](const auto& g) { return std::tuple(g, cast<float>(one / zero)); });
  backward(Tensor<float>(sum(z)));
  CHECK(x.grad().data()[0] == 1);
}

TEST_CASE("with_gradient: without a wanted gradient the result is as it is") {
  int calls = 0;
  Doubles x{2}, w{1};
  CHECK_FALSE(cube_times(x, w, calls).needs_grad());
  x.requires_grad();
  const no_grad quiet;
  CHECK_FALSE(cube_times(x, w, calls).needs_grad());
}

TEST_CASE("with_gradient: a rule that breaks its word is an error of the pass") {
  Doubles x{2, -1};
  x.requires_grad();
  const auto pass = [&](auto rule) { backward(Doubles(sum(with_gradient("mine", x * 1.0, std::tie(x), rule)))); };
  const std::string shape = said<graph_error>([&] { pass([](const auto&) { return zeros<double>({3}); }); });
  CHECK(holds(shape, "the rule of mine gave a gradient of shape [3] for input 0 of shape [2]"));
  CHECK_THROWS_WITH_AS(pass([](const auto& g) -> Doubles {
                         if (g.numel() > 0) throw std::runtime_error("no rule today");
                         return g;
                       }),
                       "no rule today", std::runtime_error);
  CHECK_FALSE(x.has_grad());
  int calls = 0;
  Doubles w{1, 1};
  const Doubles y = cube_times(x, w, calls);
  w += 1;
  CHECK(holds(said<graph_error>([&] { backward(Doubles(sum(y))); }), "changed in place"));
  CHECK(calls == 0);
  const Doubles once = cube_times(x, w, calls);
  backward(Doubles(sum(once)));
  CHECK(holds(said<graph_error>([&] { backward(Doubles(sum(once))); }), "freed"));
}
