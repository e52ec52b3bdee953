// SPDX-License-Identifier: BSL-1.0
// grad and value_and_grad of functions of tensors against closed forms: several arguments, what the function brings
// along, gradients of gradients, and mistakes. Functions of plain numbers: plain.test.cpp.
#include <kiln/transform/gradient.hpp>

#include <kiln/autograd/create_graph.hpp>
#include <kiln/transform/jacobian.hpp>

#include "agree.hpp"
#include "stored.hpp"

using namespace kiln;

namespace {

const Tensor<double> x{1.0, 2.0, 3.0}, v{0.5, -1.0, 2.0};
constexpr auto cubes = [](const auto& a) { return sum(a * a * a); };

}  // namespace

TEST_CASE("grad: by one argument, by several, with the value, with arguments that are no tensors") {
  const auto f = [](const auto& a, const auto& b, double c) { return sum(a * a * b) * c; };
  check_agrees(grad(f)(x, v, 3.0), Tensor<double>(6 * x * v));
  check_agrees(grad<1>(f)(x, v, 3.0), Tensor<double>(3 * x * x));
  const auto [value, both] = value_and_grad<0, 1>(f)(x, v, 3.0);
  CHECK(value.item() == 3 * (0.5 - 4 + 18));
  CHECK_FALSE(value.needs_grad());
  check_agrees(std::get<0>(both), Tensor<double>(6 * x * v));
  check_agrees(std::get<1>(both), Tensor<double>(3 * x * x));
  check_agrees(grad(cubes)(x * 1), Tensor<double>(3 * x * x));  // of an expression
}

TEST_CASE("grad: of constants and of what does not depend on the argument, 0") {
  check_agrees(grad([](const auto&) { return 2.0; })(x), zeros<double>({3}));
  check_agrees(grad([&](const auto&) { return sum(v); })(x), zeros<double>({3}));
  check_agrees(grad([](const auto& a) { return sum(floor(a)); })(x), zeros<double>({3}));
}

TEST_CASE("grad: adds to nobody's grad(), and works under no_grad") {
  Tensor<double> w{2.0, 2.0, 2.0};
  w.requires_grad();
  const no_grad quiet;
  const Tensor<double> g = grad([&](const auto& a) { return sum(a * w); })(x);
  check_agrees(g, w.detach());
  CHECK_FALSE(w.has_grad());
  CHECK_FALSE(g.needs_grad());
  CHECK_FALSE(x.needs_grad());
}

TEST_CASE("grad: of grad, to third order") {
  const Tensor<double> at(2.0);
  const auto fourth = [](const auto& a) { return a * a * a * a; };
  CHECK(grad(fourth)(at).item() == 32);
  CHECK(grad(grad(fourth))(at).item() == 48);
  CHECK(grad(grad(grad(fourth)))(at).item() == 48);
  // The known test of confused perturbations: d/da of a d/db (a + b) at b = a is 1.
  const auto confusing = [](const auto& a) { return a * grad([&](const auto& b) { return a + b; })(a); };
  CHECK(grad(confusing)(Tensor<double>(1.0)).item() == 1);
}

TEST_CASE("grad: what is made of gradients has a gradient itself") {
  // A penalty on the gradient: d/dw of sum((d/dx sum(w x^2))^2) = d/dw sum(4 w^2 x^2) = 8 w x^2.
  Tensor<double> w{0.5, 1.0, -2.0};
  w.requires_grad();
  const Tensor<double> slope = grad([&](const auto& a) { return sum(w * a * a); })(x);
  backward(Tensor<double>(sum(slope * slope)));
  check_agrees(w.grad(), Tensor<double>(8 * w.detach() * x * x));
  const auto penalty = [](const auto& p) {
    return sum(square(grad([&](const auto& a) { return sum(p * a * a); })(x)));
  };
  check_agrees(grad(penalty)(w.detach()), Tensor<double>(8 * w.detach() * x * x));
}

TEST_CASE("grad: in both modes over each other") {
  const Tensor<double> second = diag(6 * x);
  check_agrees(jacobian(grad(cubes))(x), second);
  check_agrees(jacfwd(grad(cubes))(x), second);
  check_agrees(hessian(cubes)(x), second);
  const auto along = [](const auto& a) { return sum(jvp(cubes, a, a).second); };  // 3 sum(a^3)
  check_agrees(grad(along)(x), Tensor<double>(9 * x * x));
}

TEST_CASE("grad: the jacobian of a gradient, of a Rosenbrock function of 100 variables") {
  const auto rosenbrock = [](const auto& a) {
    const auto first = slice(a, 0, 0, a.size(0) - 1);
    return sum(100 * square(slice(a, 0, 1) - square(first)) + square(1 - first));
  };
  const Tensor<double> h = jacobian(grad(rosenbrock))(values(100, 37, 11, 101) * 3);
  std::vector<double> diagonal;
  for (int i = 0; i < 100; ++i) diagonal.push_back(h(i, i));
  check_agrees(tensor(diagonal), stored::rosenbrock_diagonal);
}

TEST_CASE("grad: a value of more than one element is refused") {
  CHECK_THROWS_WITH_AS(grad([](const auto& a) { return a * 2; })(x), doctest::Contains("not one element"), graph_error);
}
