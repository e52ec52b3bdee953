// SPDX-License-Identifier: BSL-1.0
// Activation functions against PyTorch's definitions written out in more digits, and its gradients at their kinks.
// More of them: activation_with_parameters.test.cpp.
#include <kiln/ops/activation.hpp>

#include "battery.hpp"

using namespace battery;

namespace {

// Composed of a handful of rounded steps; where the steps subtract what is near equal, the error is the operand's.
const limits_of_error few{6, 6, false, false}, of_operand{6, 6, true, false};

auto log_of_one_plus_exp(auto x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
auto logistic(auto x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class R>
R clamped(R x, R low, R high) {
  return std::isnan(x) ? x : std::min(std::max(x, low), high);
}

}  // namespace

TEST_CASE("relu, relu6, hardsigmoid, hardswish") {
  check_unary<relu_op>([](auto x) { return relu(x); }, []<class R>(R x) { return x <= 0 ? R(0) : x; },
                       limits_of_error{.sign_of_zero = false}, {-9, 9, 0.1, 3});
  check_unary<relu6_op>([](auto x) { return relu6(x); }, []<class R>(R x) { return clamped<R>(x, 0, 6); },
                        limits_of_error{.sign_of_zero = false}, {-9, 9, 0.1, 5});
  check_unary<hardsigmoid_op>([](auto x) { return hardsigmoid(x); },
                              []<class R>(R x) { return clamped<R>(x + 3, 0, 6) / 6; }, of_operand, {-9, 9, -2.9, 2.9});
  check_unary<hardswish_op>([](auto x) { return hardswish(x); },
                            []<class R>(R x) { return x * (clamped<R>(x + 3, 0, 6) / 6); }, of_operand,
                            {-9, 9, -2.9, 2.9});
  check_integers<relu_op>([](auto x) { return relu(x); }, []<class T>(T x) { return x > 0 ? x : T(0); });
}

TEST_CASE("silu, mish, gelu in both forms") {
  check_unary<silu_op>([](auto x) { return silu(x); }, [](auto x) { return x * logistic(x); }, few, {-80, 20});
  check_unary<mish_op>([](auto x) { return mish(x); }, [](auto x) { return x * std::tanh(log_of_one_plus_exp(x)); },
                       few, {-80, 20});
  check_unary<gelu_op>([](auto x) { return gelu(x); },
                       []<class R>(R x) { return x * (R(0.5) * (1 + std::erf(x * std::sqrt(R(0.5))))); }, of_operand,
                       {-9, 9});
  check_unary<gelu_tanh_op>([](auto x) { return gelu_tanh(x); },
                            []<class R>(R x) {
                              const R inner = std::sqrt(2 / std::acos(R(-1))) * (x + R(0.044715L) * x * x * x);
                              return x * (R(0.5) * (1 + std::tanh(inner)));
                            },
                            limits_of_error{20, 20, true, false}, {-9, 9});
}

TEST_CASE("softsign, logsigmoid, tanhshrink") {
  check_unary<softsign_op>([](auto x) { return softsign(x); }, [](auto x) { return x / (1 + std::abs(x)); }, few);
  check_unary<logsigmoid_op>([](auto x) { return logsigmoid(x); }, [](auto x) { return -log_of_one_plus_exp(-x); }, few,
                             {-100, 100});
  check_unary<tanhshrink_op>([](auto x) { return tanhshrink(x); }, [](auto x) { return x - std::tanh(x); }, of_operand);
}

TEST_CASE("gradients at kinks are PyTorch's") {
  const Tensor<double> at{-3.0, 0.0, 3.0, 6.0};
  auto g = [&](auto f) { return gradients_of<double>(f, at.clone()); };
  CHECK(g([](auto x) { return relu(x); }) == std::vector<double>{0, 0, 1, 1});
  CHECK(g([](auto x) { return relu6(x); }) == std::vector<double>{0, 0, 1, 0});
  CHECK(g([](auto x) { return hardsigmoid(x); }) == std::vector<double>{0, 1.0 / 6, 0, 0});
  CHECK(g([](auto x) { return hardswish(x); }) == std::vector<double>{0, 0.5, 1, 1});
  CHECK(g([](auto x) { return softsign(x); })[1] == 1);
}

TEST_CASE("nan passes through every activation") {
  const Tensor<float> x{std::numeric_limits<float>::quiet_NaN()};
  auto stays = [&](auto f) { CHECK(std::isnan(evaluated(f(x))(0))); };
  stays([](auto v) { return relu(v); });
  stays([](auto v) { return relu6(v); });
  stays([](auto v) { return hardsigmoid(v); });
  stays([](auto v) { return hardswish(v); });
  stays([](auto v) { return logsigmoid(v); });
}
