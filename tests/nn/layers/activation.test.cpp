// SPDX-License-Identifier: BSL-1.0
// Activations as modules: each is its function with PyTorch's defaults; oracles are closed forms.
#include <kiln/nn/layers/activation.hpp>

#include "nn/layers/check.hpp"

using namespace kiln;

namespace {
/// The layer at 25, -0.4, 0.3 and -3 beside the function of plain numbers.
template <class L, class F>
void check(const L& layer, F f) {
  const Tensor<double> x{25, -0.4, 0.3, -3}, y = detach(layer(x));  // which spares its gradient program
  for (std::int64_t i = 0; i < 4; ++i) {
    INFO(nn::detail::short_name<L>());
    CHECK(y(i) == doctest::Approx(f(x(i))).epsilon(1e-12));
  }
}
double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}
double limited(double x, double low, double high) {
  return std::min(std::max(x, low), high);
}
}  // namespace

TEST_CASE("activations: closed forms with the defaults") {
  check(nn::ReLU{}, [](double x) { return std::max(x, 0.0); });
  check(nn::ReLU6{}, [](double x) { return limited(x, 0, 6); });
  check(nn::SiLU{}, [](double x) { return x * logistic(x); });
  check(nn::Mish{}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
  check(nn::Softsign{}, [](double x) { return x / (1 + std::abs(x)); });
  check(nn::Sigmoid{}, logistic);
  check(nn::LogSigmoid{}, [](double x) { return -std::log1p(std::exp(-x)); });
  check(nn::Tanh{}, [](double x) { return std::tanh(x); });
  check(nn::Tanhshrink{}, [](double x) { return x - std::tanh(x); });
  check(nn::Hardsigmoid{}, [](double x) { return limited(x / 6 + 0.5, 0, 1); });
  check(nn::Hardswish{}, [](double x) { return x * limited(x / 6 + 0.5, 0, 1); });
  check(nn::GELU{}, [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; });
  check(nn::GELUTanh{}, [](double x) {
    return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  });
  check(nn::LeakyReLU{}, [](double x) { return x > 0 ? x : 0.01 * x; });
  check(nn::ELU{2}, [](double x) { return x > 0 ? x : 2 * std::expm1(x); });
  check(nn::CELU{2}, [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); });
  check(nn::SELU{}, [](double x) {
    return 1.0507009873554804934193349852946 * (x > 0 ? x : 1.6732632423543772848170429916717 * std::expm1(x));
  });
  check(nn::Softshrink{}, [](double x) { return x > 0.5 ? x - 0.5 : x < -0.5 ? x + 0.5 : 0; });
  check(nn::Hardshrink{}, [](double x) { return std::abs(x) > 0.5 ? x : 0; });
  check(nn::Softplus{}, [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); });
  check(nn::Hardtanh{}, [](double x) { return limited(x, -1, 1); });
  check(nn::Threshold{0.1, 20}, [](double x) { return x > 0.1 ? x : 20; });
}

TEST_CASE("activations: along an axis") {
  const Tensor<double> x{{1, 2}, {3, 5}};
  const Tensor<double> s = nn::Softmax{0}(x), l = nn::LogSoftmax{1}(x), m = nn::Softmin{1}(x);
  CHECK(s(0, 0) == doctest::Approx(1 / (1 + std::exp(2))));
  CHECK(l(1, 0) == doctest::Approx(-std::log1p(std::exp(2))));
  CHECK(m(1, 0) == doctest::Approx(1 / (1 + std::exp(-2))));
}

TEST_CASE("activations: PReLU and GLU by PyTorch's values") {
  test::check_layer("prelu", nn::PReLU<double>{3}, {2, 3, 2});
  test::check_layer("glu", nn::GLU{1}, {2, 4, 2});
  CHECK_THROWS_AS(nn::GLU{}(zeros<double>({2, 3})), shape_error);
  CHECK_THROWS_AS(nn::PReLU<double>{3}(zeros<double>({2, 2})), shape_error);
  CHECK(nn::PReLU<float>{2}.weight(1) == 0.25f);
}
