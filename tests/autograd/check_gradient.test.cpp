// SPDX-License-Identifier: BSL-1.0
// check_gradient against functions whose derivative is right, wrong, and absent.
#include <kiln/autograd/check_gradient.hpp>
#include <kiln/tensor/creation.hpp>

#include <doctest/doctest.h>

using namespace kiln;

namespace {

const Tensor<double> a{0.3, -1.2, 2.5}, b{{0.5, 1.5, -0.25}, {2.0, -3.0, 0.125}};

}  // namespace

TEST_CASE("check_gradient: right derivatives of every input agree") {
  const auto check = check_gradient([](auto x, auto y) { return tanh(x) * y + exp(x * 0.5); }, a, b);
  CHECK_MESSAGE(check.agrees, check.text);
  CHECK(check.text.empty());
}

TEST_CASE("check_gradient: a gradient that is missing is named with input, element and both numbers") {
  // The rule sees the second factor as a constant: the derivative by y is lost, the one by x half of it.
  const auto check = check_gradient([](auto x, auto y) { return x * stop_gradient(y); }, a, b);
  REQUIRE_FALSE(check.agrees);
  CHECK(check.input == 1);
  CHECK(check.element == 0);
  CHECK(check.backward == 0);
  CHECK(check.differences == doctest::Approx(0.5 * 0.3).epsilon(1e-9));  // the first weight is 0.5
  CHECK(check.text.find("input 1 of shape [2, 3], element 0 (value 0.5)") != std::string::npos);
}

TEST_CASE("check_gradient: the first wrong element is found, not the first element") {
  const Tensor<double> mask{1.0, 1.0, 0.0};
  const auto check = check_gradient([&](auto x) { return where(mask != 0, x * x, stop_gradient(x)); }, a);
  REQUIRE_FALSE(check.agrees);
  CHECK(check.input == 0);
  CHECK(check.element == 2);
}

TEST_CASE("check_gradient: errors of opposite sign in two outputs do not cancel") {
  const Tensor<double> signs{1.0, -1.0};
  CHECK_FALSE(check_gradient([&](auto x) { return x + stop_gradient(x) * signs; }, Tensor<double>{0.7}).agrees);
}

TEST_CASE("check_gradient: a NaN disagrees") {
  const auto check = check_gradient([](auto x) { return sqrt(x); }, Tensor<double>{-1.0});
  CHECK_FALSE(check.agrees);
}

TEST_CASE("check_gradient: an input that the function does not depend on has gradient zero") {
  const auto check = check_gradient([](auto x, auto) { return x * 2.0; }, a, b);
  CHECK_MESSAGE(check.agrees, check.text);
  CHECK_FALSE(
      check_gradient([](auto x, auto y) { return x * 2.0 + stop_gradient(y); }, a, Tensor<double>{1.0, 2.0, 3.0})
          .agrees);
}

TEST_CASE("check_gradient: tolerances are the caller's") {
  const Tensor<double> x{1.0};
  auto slightly_off = [](auto v) { return v * v + 0.01 * stop_gradient(v); };  // gradient 2, differences 2.01
  CHECK_FALSE(check_gradient(slightly_off, x).agrees);
  CHECK(check_gradient(slightly_off, gradient_check_options{.rtol = 0.01}, x).agrees);
  CHECK_FALSE(check_gradient(slightly_off, gradient_check_options{.rtol = 0.001}, x).agrees);
}

TEST_CASE("check_gradient: the inputs stay as they were") {
  Tensor<double> x{1.0, 2.0};
  CHECK(check_gradient([](auto v) { return exp(v); }, x).agrees);
  CHECK(x(0) == 1.0);
  CHECK(x(1) == 2.0);
  CHECK_FALSE(x.needs_grad());
}

TEST_CASE("check_gradient: a function without inputs that matter, and an empty input, are fine") {
  CHECK(check_gradient([](auto x) { return x * 2.0; }, empty<double>({0})).agrees);
}

TEST_CASE("check_gradient: the gradient of a broadcast operand is summed, whatever the length of the axis") {
  for (std::int64_t length : {1, 2, 3, 5, 8, 13, 31, 33, 100}) {
    Tensor<double> wide(new_tensor(dtype::float64, {2, length}));
    for (std::int64_t i = 0; i < wide.numel(); ++i) wide.data()[i] = 0.1 * static_cast<double>(i);
    const auto check = check_gradient([&](auto x) { return x * wide + x; }, Tensor<double>{0.7});
    CHECK_MESSAGE(check.agrees, "length ", length, ": ", check.text);
  }
}
