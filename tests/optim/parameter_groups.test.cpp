// SPDX-License-Identifier: BSL-1.0
// What all optimizers share: groups, steps counted by parameter, state by name, half types over float weights.
#include <doctest/doctest.h>

#include <kiln/kiln.hpp>
#include <kiln/optim/adam.hpp>
#include <kiln/optim/sgd.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace kiln;

namespace {

Tensor<double> parameter(std::int64_t n, double value) {
  Tensor<double> p = full<double>({n}, value);
  p.requires_grad();
  return p;
}

}  // namespace

TEST_CASE("groups have options of their own, which can be set between steps") {
  Tensor<double> a = parameter(3, 1), b = parameter(2, 1), c = parameter(1, 1);
  optim::SGD opt(std::vector{a}, {.lr = 0.5});
  opt.add_param_group({b, c}, {.lr = 0.25});
  CHECK(opt.group_count() == 2);
  CHECK(opt.parameters(1).size() == 2);
  CHECK(opt.parameters(1)[0].data() == b.data());
  const auto step = [&] {
    opt.zero_grad();
    backward(sum(a) + sum(b) + sum(c));
    opt.step();
  };
  step();
  CHECK((a(2) == 0.5 && b(1) == 0.75 && c(0) == 0.75));
  opt.lr(1) = 1;
  opt.options(0).weight_decay = 2;
  step();
  CHECK((a(2) == -0.5 && b(1) == -0.25 && c(0) == -0.25));

  const std::vector<optim::parameter_group<double, Cpu, optim::sgd_options>> groups{{{a}, {.lr = 1}}, {{b, c}, {}}};
  optim::SGD both(groups);
  CHECK((both.lr(0) == 1 && both.lr(1) == 1e-3));
}

TEST_CASE("steps are counted by parameter, and parameters that are behind get their own bias correction") {
  // At its first step Adam moves each element by lr, whatever the gradient.
  Tensor<double> a = parameter(5, 1), b = parameter(20, 1), c = parameter(3, 1);
  optim::Adam opt(std::vector{a, b, c}, {.lr = 0.125, .eps = 0});
  CHECK(opt.state_names().empty());
  CHECK_THROWS_AS(opt.state(a, "exp_avg"), value_error);
  backward(sum(a) + sum(c * 3.0));
  opt.step();
  CHECK((a(4) == doctest::Approx(0.875).epsilon(1e-14) && b(0) == 1 && c(2) == doctest::Approx(0.875).epsilon(1e-14)));
  CHECK((opt.steps(a) == 1 && opt.steps(b) == 0 && opt.steps(c) == 1));
  opt.zero_grad();
  backward(sum(a) + sum(b * 7.0) + sum(c));
  opt.step();
  CHECK(b(19) == doctest::Approx(0.875).epsilon(1e-14));
  CHECK((opt.steps(a) == 2 && opt.steps(b) == 1 && opt.steps(c) == 2));
  CHECK(opt.state_names() == std::vector<std::string>{"exp_avg", "exp_avg_sq"});
  CHECK(opt.state(b, "exp_avg").sizes() == dims{20});
  CHECK(opt.state(b, "exp_avg")(19) == doctest::Approx(0.7));
  CHECK(opt.state(c, "exp_avg_sq")(0) == doctest::Approx(0.999 * 0.009 + 0.001));
  CHECK_THROWS_AS(opt.state(Tensor<double>{1, 2}, "exp_avg"), value_error);
  CHECK_THROWS_WITH_AS(opt.state(a, "momentum"),
                       "state: there is no \"momentum\" (exp_avg, exp_avg_sq); what an optimizer keeps is made at its "
                       "first step",
                       value_error);
}

TEST_CASE("gradients of several batches add up to that of all") {
  Tensor<double> a = parameter(4, 1), b = parameter(4, 1);
  const Tensor<double> x = arange<double>(12).reshape({3, 4});
  optim::Adam one(std::vector{a}, {.lr = 0.1}), other(std::vector{b}, {.lr = 0.1});
  for (int t = 0; t < 5; ++t) {
    one.zero_grad(), other.zero_grad();
    backward(mean(square(x * a)));
    for (int i = 0; i < 3; ++i) backward(mean(square(x.select(0, i) * b)) / 3.0);
    one.step(), other.step();
  }
  for (int i = 0; i < 4; ++i) CHECK(a(i) == doctest::Approx(b(i)).epsilon(1e-13));
}

TEST_CASE("scale_gradients multiplies those there are, and says whether they are finite") {
  Tensor<double> a = parameter(3, 1), b = parameter(2, 1), c = parameter(2, 1);
  optim::SGD opt(std::vector{a, b, c});
  backward(sum(a * 4.0) + sum(c * 8.0));
  CHECK(opt.scale_gradients(0.25));
  CHECK((a.grad()(2) == 1 && c.grad()(1) == 2 && !b.has_grad()));
  a.grad()(1) = INFINITY;
  CHECK_FALSE(opt.scale_gradients(0.5));
  CHECK_FALSE(opt.scale_gradients(0));  // infinity times nothing
  opt.zero_grad();
  backward(sum(a) + sum(c));
  CHECK(opt.scale_gradients(0.5));  // nothing stayed behind between the tensors
}

TEST_CASE("half types: steps too small for them add up in float weights") {
  using T = bfloat16;
  Tensor<T> w{T(1.0f), T(2.0f), T(3.0f)};
  Tensor<float> exact{1, 2, 3};
  w.requires_grad(), exact.requires_grad();
  optim::AdamW opt(std::vector{w}, {.lr = 1e-4});
  optim::AdamW reference(std::vector{exact}, {.lr = 1e-4});
  const auto step = [&] {
    opt.zero_grad(), reference.zero_grad();
    backward(sum(w)), backward(sum(exact));
    opt.step(), reference.step();
  };
  for (int t = 0; t < 100; ++t) step();
  const Tensor<float> master = opt.state(w, "master");
  for (int i = 0; i < 3; ++i) {
    CHECK(master(i) == doctest::Approx(exact(i)).epsilon(1e-6));
    CHECK(static_cast<float>(w(i)) == static_cast<float>(T(master(i))));
  }
  {  // weights that were set count, not what the optimizer remembers
    const no_grad quiet;
    w.copy_(Tensor<T>{T(8.0f), T(8.0f), T(8.0f)});
  }
  step();
  CHECK(opt.state(w, "master")(1) == doctest::Approx(8 - 1e-4 - 8e-6).epsilon(1e-6));
}
