// SPDX-License-Identifier: BSL-1.0
// Activation functions against PyTorch's definitions written out in more digits, and its gradients at their kinks.
// More of them: activation_with_parameters.test.cpp.
#include <kiln/device/cpu/kernel/plain.hpp>
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
R twice_inner(R x) {
  return 2 * std::sqrt(2 / std::acos(R(-1))) * (x + R(0.044715L) * x * x * x);
}
template <class R>
R tanh_gelu(R x) {
  return x * logistic(twice_inner(x));
}
template <class R>
R tanh_gelu_slope(R x) {
  const R inner = twice_inner(x), c = 2 * std::sqrt(2 / std::acos(R(-1)));
  return logistic(inner) + x * logistic(inner) * logistic(-inner) * c * (1 + 3 * R(0.044715L) * x * x);
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
  check_unary<gelu_tanh_op>([](auto x) { return gelu_tanh(x); }, []<class R>(R x) { return tanh_gelu<R>(x); },
                            limits_of_error{4, 4, false, false}, {-22, 9});
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

// Of all floats, value and derivative are off by at most 4.1 and 5.0 ulp with AVX-512, 5.8 and 8.6 with AVX2, 6.5
// and 8.8 with SSE2.
TEST_CASE("gelu: 6.5 ulp as far as there is anything but 0, its derivative 8.8 but near its own zero") {
  auto check = [](auto one, double low) {
    using T = decltype(one);
    using R = exact_type<T>;
    std::vector<T> at;
    for (double x = low; x < 9; x += 0.00037) at.push_back(static_cast<T>(x));
    for (double x = 1e-6; x < -low; x *= 1.0001) at.push_back(static_cast<T>(-x)), at.push_back(static_cast<T>(x));
    for (const float x : {0x1.f76cp-9f, 0x1.fdbcp-9f, -0.317264f, -0.339767f, -1.82989f, -0.353257f, -0.378254f})
      at.push_back(static_cast<T>(x));  // where it was furthest off
    worst_error<T> value, slope;
    const Tensor<T> y = gelu(tensor_of(at));
    const std::vector<T> g = gradients_of<T>([](auto x) { return gelu(x); }, tensor_of(at));
    for (std::size_t i = 0; i < at.size(); ++i) {
      const R x = at[i], share = std::erfc(-x * std::sqrt(R(0.5L))) / 2;
      value.see(y.data()[i], x * share, limits_of_error{}, at[i]);
      if (std::abs(x + R(0.7518L)) > R(0.35L))
        slope.see(g[i], share + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(R(-1))), limits_of_error{}, at[i]);
    }
    value.check("gelu", limits_of_error{6.5, 4.7});
    slope.check("gelu's derivative", limits_of_error{8.8, 7});
  };
  check(1.0f, -12.8);
  check(1.0, -37.3);
}

TEST_CASE("gelu_tanh: 4 ulp as far as there is anything but 0, its derivative 7 but near its own zero") {
  auto check = [](auto one, double low) {
    using T = decltype(one);
    using R = exact_type<T>;
    std::vector<T> at;
    for (double x = low; x < 12; x += 0.00071) at.push_back(static_cast<T>(x));
    worst_error<T> value, slope, far_slope;
    const Tensor<T> y = gelu_tanh(tensor_of(at));
    const std::vector<T> g = gradients_of<T>([](auto x) { return gelu_tanh(x); }, tensor_of(at));
    for (std::size_t i = 0; i < at.size(); ++i) {
      value.see(y.data()[i], tanh_gelu<R>(at[i]), limits_of_error{}, at[i]);
      if (std::abs(at[i] + T(0.7525)) > T(0.2))
        (at[i] < -8 || at[i] > 0 ? far_slope : slope).see(g[i], tanh_gelu_slope<R>(at[i]), limits_of_error{}, at[i]);
    }
    value.check("gelu_tanh", limits_of_error{4, 4});
    slope.check("gelu_tanh's derivative", limits_of_error{7, 7});
    far_slope.check("gelu_tanh's derivative far off", limits_of_error{4.2, 4.2});
  };
  check(1.0f, -10.5);
  check(1.0, -21.5);
}

TEST_CASE("relu, relu6: -0 stays -0") {
  CHECK(std::signbit(evaluated(relu(Tensor<float>{-0.0f})).item()));
  CHECK(std::signbit(evaluated(relu6(Tensor<float>{-0.0f})).item()));
  CHECK_FALSE(std::signbit(evaluated(relu(Tensor<float>{0.0f})).item()));
}

TEST_CASE("selu of half: its gradient far below zero is that of the exponential, and not of a rounded result") {
  Tensor<half> x{half(-20.0f), half(-5.0f), half(65504.0f)};
  x.requires_grad();
  const Tensor<half> y = selu(x), ones{half(1.0f), half(1.0f), half(1.0f)};
  backward(y, ones);
  CHECK(x.grad()(0) < 1e-7f);
  CHECK(x.grad()(1) == doctest::Approx(1.7580993408 * std::exp(-5.0)).epsilon(1e-3));
  CHECK(x.grad()(2) == doctest::Approx(1.0507).epsilon(1e-3));
}

TEST_CASE("activations that limit keep integers") {
  const Tensor<int> y = relu6(Tensor<int>{-3, 3, 9});
  CHECK(y(0) == 0);
  CHECK(y(1) == 3);
  CHECK(y(2) == 6);
  const auto h = evaluated(hardtanh(Tensor<std::int8_t>{std::int8_t(-3), std::int8_t(0), std::int8_t(3)}, -1.5, 1.5));
  CHECK(h.dtype() == dtype::int8);
  CHECK(static_cast<int>(h(0)) == -1);
  CHECK(static_cast<int>(h(2)) == 1);
  const auto u = evaluated(hardtanh(Tensor<std::uint8_t>{std::uint8_t(3), std::uint8_t(0)}));
  CHECK(static_cast<int>(u(0)) == 1);
  CHECK(static_cast<int>(u(1)) == 0);
  const Tensor<int> t = threshold(Tensor<int>{-3, 0, 3}, 1, 7.5);
  CHECK(t(1) == 7);
  CHECK(t(2) == 3);
  CHECK_THROWS_AS(threshold(Tensor<std::uint8_t>{std::uint8_t(3)}, 1, 300), value_error);
  CHECK_THROWS_AS(hardtanh(Tensor<int>{1}, std::nan(""), 1), value_error);
}
