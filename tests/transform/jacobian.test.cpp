// SPDX-License-Identifier: BSL-1.0
// Jacobians and hessians against JAX's (stored.hpp), and against what is known of them.
#include <kiln/transform/jacobian.hpp>

#include "agree.hpp"
#include "stored.hpp"

using namespace kiln;

namespace {

constexpr auto rosenbrock = [](const auto& x) {
  const std::int64_t n = x.size(0);
  const auto first = slice(x, 0, 0, n - 1);
  return sum(100 * square(slice(x, 0, 1) - square(first)) + square(1 - first));
};

auto layer(const Tensor<double>& w) {
  return [w](const auto& x) { return softmax(tanh(matmul(w, x))) * sum(x * x); };
}

}  // namespace

TEST_CASE("hessian, hvp: of a Rosenbrock function of 100 variables") {
  const Tensor<double> x = values(100, 37, 11, 101) * 3;
  check_agrees(grad(rosenbrock)(x), stored::rosenbrock_gradient);
  const Tensor<double> h = hessian(rosenbrock)(x);
  REQUIRE(h.sizes() == dims{100, 100});
  std::vector<double> diagonal, beside;
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 100; ++j) {
      if (i == j) diagonal.push_back(h(i, j));
      if (j == i + 1) beside.push_back(h(i, j));
      if (std::abs(i - j) > 1) CHECK(h(i, j) == 0);
      CHECK(h(i, j) == doctest::Approx(h(j, i)).epsilon(1e-13));
    }
  check_agrees(tensor(diagonal), stored::rosenbrock_diagonal);
  check_agrees(tensor(beside), stored::rosenbrock_beside);
  check_agrees(hvp(rosenbrock, x, values(100, 13, 5, 97)), stored::rosenbrock_hvp);
}

TEST_CASE("jacobian: by reverse and by forward mode, and both modes' products with vectors") {
  const Tensor<double> w = values(12, 7, 3, 17).reshape({3, 4}), x = values(4, 5, 2, 11);
  const auto f = layer(w);
  CHECK(Tensor<double>(jacrev(f)(x)).sizes() == dims{3, 4});
  check_agrees(jacobian(f)(x), stored::layer_jacobian);
  check_agrees(jacfwd(f)(x), stored::layer_jacobian);
  check_agrees(jvp(f, x, values(4, 3, 1, 7)).second, stored::layer_jvp);
  check_agrees(vjp(f, x).second(values(3, 2, 1, 5)), stored::layer_vjp);
}

TEST_CASE("jacobian: of a jacobian, forward over forward and forward over reverse") {
  const Tensor<double> w = values(12, 7, 3, 17).reshape({3, 4}), x = values(4, 5, 2, 11);
  const Tensor<double> forward = jacfwd(jacfwd(layer(w)))(x);
  CHECK(forward.sizes() == dims{3, 4, 4});
  check_agrees(forward, stored::layer_hessians);
  check_agrees(jacfwd(jacrev(layer(w)))(x), stored::layer_hessians);
}

TEST_CASE("jacobian: sizes are those of the result and of the argument") {
  const Tensor<double> x{{1, 2, 3}, {4, 5, 6}};
  const Tensor<double> rows = jacrev([](const auto& a) { return sum(a * a, 1); })(x);
  CHECK(rows.sizes() == dims{2, 2, 3});
  CHECK(rows(1, 1, 2) == 12);
  CHECK(rows(1, 0, 2) == 0);
  check_agrees(jacfwd([](const auto& a) { return sum(a * a, 1); })(x), rows);
  CHECK(Tensor<double>(jacrev([](const auto& a) { return sum(a * a); })(x)).sizes() == dims{2, 3});
}

TEST_CASE("jacobian(f, x), hessian(f, x): at once") {
  const Tensor<double> x{1, 2};
  const Tensor<double> j = jacobian([](const auto& a) { return a * sum(a); }, x);
  check_agrees(j, std::vector<double>{4, 1, 2, 5});
  check_agrees(hessian([](const auto& a) { return sum(a * a * a); }, x), std::vector<double>{6, 0, 0, 12});
}
