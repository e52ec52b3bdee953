// SPDX-License-Identifier: BSL-1.0
// Clipping, loss scaling and averages: what stands between backward() and the next one.
#include <doctest/doctest.h>

#include <kiln/kiln.hpp>
#include <kiln/optim/averaged.hpp>
#include <kiln/optim/grad_scaler.hpp>
#include <kiln/optim/gradients.hpp>
#include <kiln/optim/sgd.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

using namespace kiln;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Gradients 3, -4 and {12, 0}, of which the first two parameters may lie in an optimizer's buffer.
struct problem {
  Tensor<double> a{1, 1}, b{1}, c{5};
  std::vector<Tensor<double>> all{a, b, c};
  problem() {
    for (Tensor<double>& p : all) p.requires_grad();
  }
  void run_backward() const { backward(sum(a * Tensor<double>{12, 0}) + sum(b * -4.0) + sum(square(c - 3.5))); }
};

}  // namespace

TEST_CASE("clip_grad_norm shortens all gradients together, wherever they lie") {
  for (const bool flat : {false, true}) {
    CAPTURE(flat);
    problem p;
    std::unique_ptr<optim::SGD<double>> opt;
    if (flat) opt = std::make_unique<optim::SGD<double>>(std::vector{p.a, p.b});
    p.run_backward();
    CHECK(optim::clip_grad_norm(p.all, 100) == doctest::Approx(13));
    CHECK(p.a.grad()(0) == 12);
    CHECK(optim::clip_grad_norm(p.all, 1.3) == doctest::Approx(13));
    // PyTorch multiplies by max_norm / (norm + 1e-6).
    const double by = 1.3 / (13 + 1e-6);
    CHECK((p.a.grad()(0) == doctest::Approx(12 * by).epsilon(1e-14) && p.a.grad()(1) == 0));
    CHECK((p.b.grad()(0) == doctest::Approx(-4 * by).epsilon(1e-14)));
    CHECK((p.c.grad()(0) == doctest::Approx(3 * by).epsilon(1e-14)));
    for (auto& x : p.all) x.zero_grad();
    p.run_backward();
    CHECK(optim::clip_grad_norm(p.all, 1, infinity) == 12);
    CHECK(p.c.grad()(0) == doctest::Approx(0.25));
    CHECK(optim::clip_grad_norm(p.all, 100, 1) == doctest::Approx(1 + 1.0 / 3 + 0.25));
    CHECK(optim::clip_grad_norm(p.all, 100, 3) == doctest::Approx(std::cbrt(1 + 1.0 / 27 + 1.0 / 64)));
  }
}

TEST_CASE("clip_grad_norm: gradients that are not finite are told, and leave nothing between the tensors") {
  problem p;
  optim::SGD opt(p.all, {.lr = 1});
  backward(sum(p.a * infinity) + sum(p.b));
  CHECK(optim::clip_grad_norm(opt, 1) == infinity);
  opt.zero_grad();
  backward(sum(p.a * infinity) + sum(p.b));
  CHECK_THROWS_AS(optim::clip_grad_norm(opt, 1, 2, true), value_error);
  backward(sum(p.a) * std::nan(""));
  CHECK(std::isnan(optim::clip_grad_norm(opt, 1)));
  CHECK(std::isnan(optim::clip_grad_norm(opt, 1, infinity)));
  opt.zero_grad();
  p.run_backward();
  CHECK(optim::clip_grad_norm(opt, 100) == doctest::Approx(13));
  CHECK_THROWS_AS(optim::clip_grad_norm(opt, -1), value_error);
  CHECK_THROWS_AS(optim::clip_grad_norm(opt, 1, 0), value_error);
}

TEST_CASE("clip_grad_value cuts each element") {
  problem p;
  optim::SGD opt(std::vector{p.b, p.c});
  p.run_backward();
  optim::clip_grad_value(p.all, 3.5);
  CHECK((p.a.grad()(0) == 3.5 && p.a.grad()(1) == 0 && p.b.grad()(0) == -3.5 && p.c.grad()(0) == 3));
  CHECK_THROWS_AS(optim::clip_grad_value(p.all, -1), value_error);
}

TEST_CASE("GradScaler divides before the step, leaves out steps that are not finite, and finds a scale") {
  Tensor<double> w{1, 1};
  w.requires_grad();
  optim::SGD opt(std::vector{w}, {.lr = 1});
  optim::GradScaler scaler({.init_scale = 8, .growth_interval = 2});
  const auto step = [&](double slope) {
    opt.zero_grad();
    backward(scaler.scale(sum(w * slope)));
    const bool made = scaler.step(opt);
    scaler.update();
    return made;
  };
  CHECK(step(0.25));
  CHECK((w(1) == 0.75 && scaler.get_scale() == 8));
  CHECK(step(0.25));
  CHECK(scaler.get_scale() == 16);
  CHECK_FALSE(step(infinity));
  CHECK((w(0) == 0.5 && scaler.get_scale() == 8));
  CHECK(opt.steps(w) == 2);
  opt.zero_grad();
  backward(scaler.scale(sum(w)));
  scaler.unscale(opt);
  CHECK(w.grad()(0) == 1);
  CHECK_THROWS_AS(scaler.unscale(opt), value_error);
  CHECK(scaler.step(opt));
  CHECK(w(0) == -0.5);
  CHECK_THROWS_AS(optim::GradScaler({.growth_factor = 1}), value_error);
  CHECK_THROWS_AS(optim::GradScaler({.growth_factor = HUGE_VAL}), value_error);
  CHECK_THROWS_AS(optim::GradScaler({.init_scale = HUGE_VAL}), value_error);
  CHECK_THROWS_AS(optim::GradScaler({.backoff_factor = 1}), value_error);
}

TEST_CASE("GradScaler saves gradients that half precision would lose") {
  Tensor<half> w{half(1.0f)};
  w.requires_grad();
  optim::SGD opt(std::vector{w}, {.lr = 1e5});
  const auto moved = [&](optim::GradScaler scaler) {
    opt.zero_grad();
    // The slope 1e-9 is no half: what reaches w is the product of two small ones.
    const Tensor<half> y = w * 3e-5;
    backward(scaler.scale(sum(y * 3e-5)));
    const float before = opt.steps(w) ? opt.state(w, "master")(0) : 1;
    scaler.step(opt);
    return before - opt.state(w, "master")(0);
  };
  CHECK(moved(optim::GradScaler({.enabled = false})) == 0);
  CHECK(moved(optim::GradScaler()) == doctest::Approx(9e-5).epsilon(0.02));
}

TEST_CASE("ExponentialMovingAverage follows parameters in an optimizer's buffer and outside, and can stand in") {
  for (const bool flat : {false, true}) {
    CAPTURE(flat);
    problem p;
    optim::ExponentialMovingAverage ema(p.all, {.decay = 0.75});
    CHECK_THROWS_AS(ema.swap(), value_error);
    std::unique_ptr<optim::SGD<double>> opt;
    if (flat) opt = std::make_unique<optim::SGD<double>>(p.all);
    ema.update();
    CHECK((ema.average(0)(1) == 1 && ema.average(2)(0) == 5));
    {
      const no_grad quiet;
      p.a += 4.0, p.c.fill_(1);
    }
    ema.update();
    CHECK((ema.average(0)(1) == 2 && ema.average(1)(0) == 1 && ema.average(2)(0) == 4));
    ema.swap();
    CHECK((p.a(0) == 2 && p.c(0) == 4 && ema.average(0)(0) == 5));
    ema.swap();
    CHECK((p.a(0) == 5 && p.c(0) == 1 && ema.updates() == 2));
    CHECK_THROWS_AS(ema.average(3), index_error);
  }
  CHECK_THROWS_AS(optim::ExponentialMovingAverage(problem().all, {.decay = 2}), value_error);
}
