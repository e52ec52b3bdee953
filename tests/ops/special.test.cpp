// SPDX-License-Identifier: BSL-1.0
// Error and gamma functions against std:: in more digits, and digamma and polygamma against sums of their own.
#include <kiln/ops/special.hpp>

#include "battery.hpp"

#include <numbers>

using namespace battery;

namespace {

// The n-th derivative of digamma for x away from the poles: (-1)^(n+1) n! times the sum of (x + k)^-(n+1), the tail by
// an integral and half its first term; for n = 0 the sum is that of 1/(k+1) - 1/(x+k), less Euler's constant.
long double polygamma_by_sum(int n, long double x) {
  const int terms = 20000;
  long double sum = 0, factorial = 1;
  if (std::isnan(x)) return x;
  for (int k = terms - 1; k >= 0; --k)
    sum += n == 0 ? (x - 1) / ((k + 1.0L) * (x + k)) : std::pow(x + k, static_cast<long double>(-n - 1));
  const long double far = x + terms;
  if (n == 0) {
    // The tail is digamma(far) - digamma(terms + 1), from the first terms of their asymptotic series.
    auto series = [](long double z) { return std::log(z) - 0.5L / z - 1 / (12 * z * z); };
    return sum + series(far) - series(terms + 1.0L) - std::numbers::egamma_v<long double>;
  }
  sum += std::pow(far, static_cast<long double>(-n)) / n + 0.5L * std::pow(far, static_cast<long double>(-n - 1)) +
         (n + 1.0L) / 12 * std::pow(far, static_cast<long double>(-n - 2));
  for (int k = 2; k <= n; ++k) factorial *= k;
  return (n % 2 == 1 ? 1 : -1) * factorial * sum;
}

}  // namespace

TEST_CASE("erf, erfc: values and gradients") {
  check_unary<erf_op>([](auto x) { return erf(x); }, [](auto x) { return std::erf(x); }, stated<erf_op>(), {-6, 6});
  check_unary<erfc_op>([](auto x) { return erfc(x); }, [](auto x) { return std::erfc(x); }, stated<erfc_op>(),
                       {-6, 27});
}

TEST_CASE("gaussian, ndtr: values and gradients") {
  check_unary<gaussian_op>([](auto x) { return gaussian(x); }, [](auto x) { return std::exp(-x * x / 2); },
                           stated<gaussian_op>(), {-14, 14});
  check_unary<ndtr_op>([](auto x) { return ndtr(x); },
                       []<class R>(R x) { return std::erfc(-x * std::sqrt(R(0.5L))) / 2; }, stated<ndtr_op>(),
                       {-14, 9});
}

TEST_CASE("lgamma: values and gradients") {
  const limits_of_error loose{1, 8, true};  // its zeros at 1 and 2 take the leading digits away
  check_unary<lgamma_op>([](auto x) { return lgamma(x); }, [](auto x) { return std::lgamma(x); }, loose,
                         {0.01, 50, 0.3, 5});
}

TEST_CASE("digamma: values, and gradients below and above zero") {
  REQUIRE(is_tested<digamma_op>);
  for (double at : {0.1, 0.5, 1.0, 1.46, 2.0, 5.5, 9.99, 10.0, 33.0, 1e4, -0.5, -7.25}) {
    const Tensor<double> y = digamma(Tensor<double>{at});
    const Tensor<float> z = digamma(Tensor<float>{static_cast<float>(at)});
    CHECK(y(0) == doctest::Approx(static_cast<double>(polygamma_by_sum(0, at))).epsilon(1e-12));
    CHECK(z(0) == static_cast<float>(polygamma_by_sum(0, static_cast<float>(at))));
  }
  auto f = [](auto x) { return digamma(x); };
  for (const auto& check : {check_gradient(f, smooth_points(0.3, 8)), check_gradient(f, smooth_points(-1.9, -1.1))})
    CHECK_MESSAGE(check.agrees, check.text);
}

TEST_CASE("polygamma: values of several orders, and gradients of gradients") {
  REQUIRE(is_tested<polygamma_op>);
  for (int n : {0, 1, 2, 5})
    for (double at : {0.2, 1.0, 3.75, 20.0, -0.3, -4.6}) {
      const Tensor<double> y = polygamma(n, Tensor<double>{at});
      INFO("order ", n, " at ", at);
      CHECK(y(0) == doctest::Approx(static_cast<double>(polygamma_by_sum(n, at))).epsilon(1e-12));
    }
  const Tensor<double> orders{0.0, 1.0, 2.0, 3.0};
  const auto check = check_gradient([&](auto x) { return polygamma(orders, x); }, Tensor<double>{0.4, 1.3, 2.2, 5.0});
  CHECK_MESSAGE(check.agrees, check.text);
}

TEST_CASE("polygamma, digamma: far out, where powers underflow before factorials make up for it") {
  auto near = [](auto y, double want) { CHECK(evaluated(y).item() == doctest::Approx(want).epsilon(1e-12)); };
  // mpmath.polygamma(n, x), 20 digits.
  near(polygamma(1, Tensor<double>{1e200}), 1e-200);
  near(polygamma(1, Tensor<double>{1e155}), 1e-155);
  near(polygamma(100, Tensor<double>{100.0}), -1.4771021691741669304e-44);
  near(polygamma(170, Tensor<double>{1000.0}), -4.6422754818855407593e-206);
  near(polygamma(3, Tensor<double>{-1000000.5}), 194.81818206800487447);
  CHECK(gradients_of<double>([](auto x) { return digamma(x); }, Tensor<double>{1e200})[0] ==
        doctest::Approx(1e-200).epsilon(1e-12));
  CHECK(gradients_of<float>([](auto x) { return digamma(x); }, Tensor<float>{-1000.5f})[0] ==
        doctest::Approx(9.8686054001734414233).epsilon(1e-6));
}
