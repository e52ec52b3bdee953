// SPDX-License-Identifier: BSL-1.0
// All steps of an LSTM as one node: its gradients beside finite differences, which of them are asked for, refusals.
// (Values and gradients beside PyTorch's: nn/layers/recurrent. The steps themselves: device/cpu/products/lstm.)
#include <doctest/doctest.h>

#include <array>

#include <kiln/autograd/check_gradient.hpp>
#include <kiln/autograd/create_graph.hpp>
#include <kiln/autograd/grad.hpp>
#include <kiln/kiln.hpp>
#include <kiln/nn/functional/lstm.hpp>
#include <support/sanitized.hpp>

using namespace kiln;

namespace {

// More units than a vector has doubles; under a sanitizer, whose build has the shortest ones, a few.
constexpr std::int64_t times = 3, batch = 3, units = test::sanitized ? 3 : 9;

Tensor<double> wave(const dims& sizes, double step) {
  return sin(arange<double>(count(sizes)) * step + 0.3).reshape(sizes);
}
struct operands {
  Tensor<double> x = wave({times, batch, 4 * units}, 0.7), w = wave({4 * units, units}, 1.1) * 0.4,
                 h = wave({batch, units}, 0.9), c = wave({batch, units}, 1.3);
};

}  // namespace

TEST_CASE("lstm_steps: gradients of everything by finite differences") {
  const operands o;
  for (const bool backwards : {false, true})
    for (const bool ends : {false, true}) {
      const Tensor<std::int64_t> lengths = ends ? Tensor<std::int64_t>{3, 0, 2} : Tensor<std::int64_t>{};
      const auto check = check_gradient(
          [&](const auto& x, const auto& w, const auto& h, const auto& c) {
            const auto [y, last, cell] = detail::lstm_steps<double>(x, w, h, c, lengths, backwards);
            return Tensor<double>(cat({y.reshape({-1}), last.reshape({-1}), cell.reshape({-1})}, 0));
          },
          o.x, o.w, o.h, o.c);
      CHECK_MESSAGE(check, check.text);
    }
}

TEST_CASE("lstm_steps: each result alone, and what nobody asks for") {
  for (const int wanted : {0, 1, 2}) {
    operands o;
    o.w.requires_grad();
    o.c.requires_grad();
    const auto all = detail::lstm_steps<double>(o.x, o.w, o.h, o.c, {}, false);
    backward(sum(all[static_cast<std::size_t>(wanted)] * 2.0));
    CHECK(o.w.has_grad());
    CHECK_FALSE(o.x.has_grad());
    // One number by differences, as a check that gradients of the others do not leak in.
    const auto value = [&](double by) {
      const Tensor<double> w = o.w.detach().clone();
      w.data()[5] += by;
      const auto y = detail::lstm_steps<double>(o.x, w, o.h, o.c.detach(), {}, false);
      return sum(y[static_cast<std::size_t>(wanted)] * 2.0).item();
    };
    CHECK(o.w.grad().data()[5] == doctest::Approx((value(1e-5) - value(-1e-5)) / 2e-5).epsilon(1e-7));
  }
  const operands o;
  CHECK_FALSE(detail::lstm_steps<double>(o.x, o.w, o.h, o.c, {}, false)[0].needs_grad());
}

TEST_CASE("lstm_steps: gradients add up where an operand is used twice") {
  operands o;
  o.x.requires_grad();
  o.w.requires_grad();
  const auto once = [&] { return sum(detail::lstm_steps<double>(o.x, o.w, o.h, o.c, {}, false)[0]); };
  backward(once());
  const Tensor<double> x = o.x.grad().clone(), w = o.w.grad().clone();
  o.x.zero_grad();
  o.w.zero_grad();
  backward(once() + once());
  for (std::int64_t i = 0; i < 30; ++i) {
    CHECK(o.x.grad().data()[i] == doctest::Approx(2 * x.data()[i]).epsilon(1e-14));
    CHECK(o.w.grad().data()[i] == doctest::Approx(2 * w.data()[i]).epsilon(1e-14));
  }
}

TEST_CASE("lstm_steps: what it reads may not be changed before the pass, and there is no second derivative") {
  operands o;
  o.x.requires_grad();
  const Tensor<double> y = detail::lstm_steps<double>(o.x, o.w, o.h, o.c, {}, false)[0];
  o.w *= 2.0;
  CHECK_THROWS_WITH_AS(backward(sum(y)), doctest::Contains("was changed in place"), graph_error);
  const Tensor<double> z = sum(detail::lstm_steps<double>(o.x, o.w, o.h, o.c, {}, false)[2]);
  CHECK_THROWS_WITH_AS(grad(z, o.x, {.create_graph = true}),
                       "create_graph: LSTM has no second derivative: call backward() without create_graph, or detach() "
                       "what goes into it",
                       graph_error);
}

TEST_CASE("lstm_steps: of nothing, any number of times") {
  constexpr std::int64_t huge = std::int64_t{1} << 60;
  Tensor<double> x = zeros<double>({huge, 0, 8}), w = wave({8, 2}, 0.7);
  x.requires_grad();
  w.requires_grad();
  const auto all = detail::lstm_steps<double>(x, w, zeros<double>({0, 2}), zeros<double>({0, 2}), {}, true);
  CHECK(all[0].sizes() == dims{huge, 0, 2});
  CHECK(all[2].sizes() == dims{0, 2});
  backward(sum(all[0]));
  CHECK(x.grad().sizes() == x.sizes());
  CHECK(sum(abs(w.grad())).item() == 0);
}

TEST_CASE("lstm_steps: operands that are views") {
  const operands o;
  const Tensor<double> turned = o.w.t().clone().t(), wide = cat({o.h, o.h}, 1), part = wide.narrow(1, 0, units);
  CHECK_FALSE(turned.contiguous_layout());
  const auto one = detail::lstm_steps<double>(o.x, o.w, o.h, o.c, {}, true),
             other = detail::lstm_steps<double>(o.x, turned, part, o.c, {}, true);
  for (std::int64_t i = 0; i < times * batch * units; ++i) CHECK(one[0].data()[i] == other[0].data()[i]);
}
