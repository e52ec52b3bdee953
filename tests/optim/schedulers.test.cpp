// SPDX-License-Identifier: BSL-1.0
// Learning rates of two groups over 25 epochs beside PyTorch's. torch_values.py says what the rows are.
#include <doctest/doctest.h>

#include <kiln/nn/init.hpp>
#include <kiln/optim/adam.hpp>
#include <kiln/optim/schedules.hpp>
#include <kiln/optim/sgd.hpp>
#include <optim/agreement.hpp>

#include <cmath>

using namespace kiln;
using namespace kiln::optim;

namespace {

/// An optimizer with two groups, whose rates schedulers change.
struct two_groups {
  Tensor<double> a = nn::parameter(Tensor<double>{0}), b = nn::parameter(Tensor<double>{0});
  SGD<double> opt;
  two_groups() : opt(std::vector{a}, {.lr = 0.2, .momentum = 0.9}) {
    opt.add_param_group({b}, {.lr = 0.05, .momentum = 0.9});
  }
  std::vector<double> row() { return {opt.lr(0), opt.lr(1), opt.options(0).momentum}; }

  double difference(scheduler& s, std::span<const double> wanted) {
    std::vector<double> seen;
    for (int t = 0; t < 25; ++t) {
      for (const double x : row()) seen.push_back(x);
      if (t < 24) s.step();
    }
    return agreement::worst_difference(seen, wanted);
  }
};

template <class Scheduler, class... Arguments>
double difference(std::span<const double> wanted, const Arguments&... arguments) {
  two_groups o;
  Scheduler s(o.opt, arguments...);
  return o.difference(s, wanted);
}

}  // namespace

TEST_CASE("schedulers set PyTorch's rates") {
  namespace stored = torch_values;
  CHECK(difference<StepLR>(stored::step_lr, 4, 0.5) < 1e-14);
  CHECK(difference<MultiStepLR>(stored::multi_step_lr, std::vector<std::int64_t>{3, 7, 7, 20}, 0.3) < 1e-14);
  CHECK(difference<ExponentialLR>(stored::exponential_lr, 0.9) < 1e-14);
  CHECK(difference<ConstantLR>(stored::constant_lr, 0.25, 6) < 1e-14);
  CHECK(difference<LinearLR>(stored::linear_lr, 0.1, 1.0, 8) < 1e-14);
  CHECK(difference<PolynomialLR>(stored::polynomial_lr, 12, 2.0) < 1e-14);
  CHECK(difference<CosineAnnealingLR>(stored::cosine_annealing_lr, 7, 0.01) < 1e-14);
  CHECK(difference<LambdaLR>(stored::lambda_lr, [](std::int64_t t) { return 1 / (1 + static_cast<double>(t)); }) <
        1e-14);
}

TEST_CASE("OneCycleLR, in two phases and three, momentum too") {
  CHECK(difference<OneCycleLR>(torch_values::one_cycle_lr, 0.5, 25) < 1e-14);
  CHECK(difference<OneCycleLR>(torch_values::one_cycle_three, 0.5, 25,
                               one_cycle_options{.pct_start = 0.4,
                                                 .anneal_strategy = anneal::linear,
                                                 .div_factor = 10,
                                                 .final_div_factor = 100,
                                                 .three_phase = true}) < 1e-14);
  const auto w = nn::parameter(Tensor<double>{0});
  Adam opt(std::vector{w});
  OneCycleLR cycle(opt, 0.1, 10);
  CHECK(opt.options().betas[0] == 0.95);
  for (int t = 0; t < 10; ++t) cycle.step();
  CHECK_THROWS_AS(cycle.step(), value_error);
}

TEST_CASE("SequentialLR and ChainedScheduler") {
  {
    two_groups o;
    LinearLR warm_up(o.opt, 0.2, 1.0, 5);
    ExponentialLR decay(o.opt, 0.8);
    SequentialLR both({&warm_up, &decay}, {5});
    CHECK(o.difference(both, torch_values::sequential_lr) < 1e-14);
  }
  {
    two_groups o;
    ConstantLR first(o.opt, 0.1, 3);
    StepLR second(o.opt, 2, 0.5);
    CosineAnnealingLR third(o.opt, 10);
    SequentialLR all({&first, &second, &third}, {4, 12});
    CHECK(o.difference(all, torch_values::sequential_three) < 1e-14);
  }
  {
    two_groups o;
    ConstantLR first(o.opt, 0.1, 3);
    ExponentialLR second(o.opt, 0.9);
    ChainedScheduler both({&first, &second});
    CHECK(o.difference(both, torch_values::chained_scheduler) < 1e-14);
    CHECK((both.last_epoch() == 24 && both.last_lr(1) == o.opt.lr(1)));
  }
}

TEST_CASE("ReduceLROnPlateau") {
  const auto run = [](const plateau_options& options) {
    two_groups o;
    ReduceLROnPlateau s(o.opt, options);
    std::vector<double> seen;
    for (int t = 0; t < 30; ++t) {
      s.step(1 / (1 + static_cast<double>(t)) + 0.05 * std::sin(5 * t));
      seen.push_back(o.opt.lr(0));
    }
    return seen;
  };
  CHECK(agreement::worst_difference(run({.factor = 0.5, .patience = 2, .threshold = 1e-2}), torch_values::plateau) <
        1e-15);
  CHECK(agreement::worst_difference(run({.maximize = true,
                                         .factor = 0.1,
                                         .patience = 1,
                                         .threshold = 0.05,
                                         .relative = false,
                                         .cooldown = 2,
                                         .min_lr = 1e-3}),
                                    torch_values::plateau_max) < 1e-15);
}

TEST_CASE("schedulers refuse what makes no sense") {
  two_groups o, other;
  CHECK_THROWS_AS(StepLR(o.opt, 0), value_error);
  CHECK_THROWS_AS(CosineAnnealingLR(o.opt, 0), value_error);
  CHECK_THROWS_AS(LinearLR(o.opt, 0.0), value_error);
  CHECK_THROWS_AS(LinearLR(o.opt, 0.5, 1.5), value_error);
  CHECK_THROWS_AS(ConstantLR(o.opt, 2.0), value_error);
  CHECK_THROWS_AS(LambdaLR(o.opt, nullptr), value_error);
  CHECK_THROWS_AS(OneCycleLR(o.opt, 0.1, 0), value_error);
  CHECK_THROWS_AS(ReduceLROnPlateau(o.opt, {.factor = 1}), value_error);
  const double nan = std::nan(""), inf = HUGE_VAL;
  const std::int64_t vast = std::int64_t{1} << 62;
  CHECK_THROWS_WITH_AS(StepLR(o.opt, vast), "StepLR: step_size is 4611686018427387904: it must be from 1 to 2^53",
                       value_error);
  CHECK_THROWS_WITH_AS(StepLR(o.opt, 1, nan), "StepLR: gamma is nan: it must be a finite number from 0 on",
                       value_error);
  CHECK_THROWS_AS(MultiStepLR(o.opt, {1}, inf), value_error);
  CHECK_THROWS_AS(ExponentialLR(o.opt, -1), value_error);
  CHECK_THROWS_AS(ConstantLR(o.opt, 0.5, -1), value_error);
  CHECK_THROWS_AS(LinearLR(o.opt, 0.5, 1, 0), value_error);
  CHECK_THROWS_AS(PolynomialLR(o.opt, -1), value_error);
  CHECK_THROWS_AS(PolynomialLR(o.opt, 5, nan), value_error);
  CHECK_THROWS_AS(CosineAnnealingLR(o.opt, vast), value_error);
  CHECK_THROWS_AS(CosineAnnealingLR(o.opt, 5, nan), value_error);
  CHECK_THROWS_AS(OneCycleLR(o.opt, nan, 5), value_error);
  CHECK_THROWS_AS(OneCycleLR(o.opt, 0.1, vast), value_error);
  CHECK_THROWS_AS(OneCycleLR(o.opt, 0.1, 5, {.max_momentum = 1}), value_error);
  CHECK_THROWS_AS(OneCycleLR(o.opt, 0.1, 5, {.div_factor = 0}), value_error);
  CHECK_THROWS_AS(ReduceLROnPlateau(o.opt, {.patience = -1}), value_error);
  CHECK_THROWS_AS(ReduceLROnPlateau(o.opt, {.threshold = nan}), value_error);
  CHECK_THROWS_AS(ReduceLROnPlateau(o.opt, {.cooldown = -1}), value_error);
  CHECK_THROWS_AS(ReduceLROnPlateau(o.opt, {.min_lr = inf}), value_error);
  ExponentialLR a(o.opt, 0.9), b(other.opt, 0.9);
  CHECK_THROWS_AS(ChainedScheduler({&a, &b}), value_error);
  CHECK_THROWS_AS(ChainedScheduler({}), value_error);
  CHECK_THROWS_AS(SequentialLR({&a, &a}, {}), value_error);
}
