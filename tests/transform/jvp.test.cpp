// SPDX-License-Identifier: BSL-1.0
// jvp of functions of tensors against differences: ops, reductions and row functions of every alignment, products,
// views, several arguments and results; and mistakes. More against JAX's in jacobian.test.cpp.
#include <kiln/transform/jvp.hpp>

#include "agree.hpp"

using namespace kiln;

namespace {

const Tensor<double> x = values(12, 5, 2, 13).reshape({3, 4}) + 1.0, dx = values(12, 7, 3, 17).reshape({3, 4});

// Differences of the sixth order, good to about 1e-11 here.
template <class F>
void check_tangent(F f, const Tensor<double>& at, const Tensor<double>& along) {
  auto slope = [&](double h) {
    return Tensor<double>(
        (Tensor<double>(f(Tensor<double>(at + h * along))) - Tensor<double>(f(Tensor<double>(at - h * along)))) /
        (2 * h));
  };
  const double h = 2e-3;
  const Tensor<double> want = 1.5 * slope(h) - 0.6 * slope(2 * h) + 0.1 * slope(3 * h);
  const auto [value, tangent] = jvp(f, at, along);
  check_agrees(value, Tensor<double>(f(at)));
  REQUIRE(tangent.sizes() == want.sizes());
  const Tensor<double> got = tangent.clone();
  for (std::int64_t i = 0; i < want.numel(); ++i)
    CHECK(std::abs(got.data()[i] - want.data()[i]) <= 1e-9 * std::max(1.0, std::abs(want.data()[i])));
}

}  // namespace

TEST_CASE("jvp: elementwise ops, with constants of every kind around") {
  const Tensor<double> row = values(4, 3, 1, 5);
  const Tensor<std::int64_t> whole{1, 2, 3, 4};
  check_tangent([](const auto& a) { return tanh(a) * exp(a) / (1 + a * a); }, x, dx);
  check_tangent([&](const auto& a) { return a * row + whole - log(a); }, x, dx);
  check_tangent([](const auto& a) { return where(a > 1, a * a, gelu(a)); }, x, dx);
  check_tangent([](const auto& a) { return stop_gradient(a) * 0 + maximum(a, 0.9) + pow(a, 2.5); }, x, dx);
}

TEST_CASE("jvp: reductions and row functions, in one kernel or several") {
  check_tangent([](const auto& a) { return sum(a * a, 1); }, x, dx);
  check_tangent([](const auto& a) { return prod(a, 0); }, x, dx);
  check_tangent([](const auto& a) { return max(a, 1) + min(a); }, x, dx);
  check_tangent([](const auto& a) { return softmax(a); }, x, dx);
  check_tangent([](const auto& a) { return log_softmax(a, 0) * a; }, x, dx);
  check_tangent([](const auto& a) { return layer_norm(a) + rms_norm(a); }, x, dx);
  check_tangent([](const auto& a) { return kiln::std(a, 1) * norm(a) + logsumexp(a, 1); }, x, dx);
  check_tangent([](const auto& a) { return sum(a * sum(a, 1, true), 0); }, x, dx);
  check_tangent([](const auto& a) { return mean(sum(a * a, 1)); }, x, dx);
  check_tangent([](const auto& a) { return a - mean(a, 0) + a / sum(a, 1, true); }, x, dx);
}

TEST_CASE("jvp: products and views") {
  const Tensor<double> w = values(8, 3, 1, 11).reshape({4, 2});
  check_tangent([&](const auto& a) { return tanh(matmul(a, w)); }, x, dx);
  check_tangent([](const auto& a) { return matmul(a, transpose(a, 0, 1)) * 2; }, x, dx);
  check_tangent([](const auto& a) { return matmul(a.select(0, 1), a.t()); }, x, dx);
  check_tangent([](const auto& a) { return dot(a.select(0, 0), a.flatten().slice(0, 4, 8)); }, x, dx);
  check_tangent([](const auto& a) { return (a * a).reshape({2, 6}).t(); }, x, dx);
}

TEST_CASE("jvp: several arguments and results; what does not change has tangent 0") {
  const auto f = [](const auto& a, const auto& b) { return std::tuple{a * b, sum(b), floor(a)}; };
  const Tensor<double> y = x * 2, dy = dx * 3;
  const auto [results, tangents] = jvp(f, std::tuple{x, y}, std::tuple{dx, dy});
  check_agrees(std::get<0>(results), Tensor<double>(x * y));
  check_agrees(std::get<0>(tangents), Tensor<double>(dx * y + x * dy));
  check_agrees(std::get<1>(tangents), Tensor<double>(sum(dy)));
  check_agrees(std::get<2>(tangents), zeros<double>({3, 4}));
  check_agrees(jvp([&](const auto&) { return y; }, x, dx).second, zeros<double>({3, 4}));
  check_agrees(jvp([&](const auto& a) { return a; }, x, dx).second, dx);
}

TEST_CASE("jvp: in float and half") {
  const Tensor<float> a{1, 2, 3}, da{1, 0, 2};
  const Tensor<float> t = jvp([](const auto& v) { return v * v; }, a, da).second;
  CHECK(t(2) == 12);
  const Tensor<half> b = cast<half>(a), db = cast<half>(da);
  const Tensor<half> u = jvp([](const auto& v) { return v * v; }, b, db).second;
  CHECK(static_cast<float>(u(2)) == 12);
}

TEST_CASE("jvp: within jvp, and not mixed up with it") {
  const Tensor<double> one(1.0);
  const auto cube = [](const auto& a) { return a * a * a; };
  const auto slope = [&](const auto& a) { return jvp(cube, a, one).second; };
  CHECK(jvp(slope, Tensor<double>(2.0), one).second.item() == 12);
  // d/da of a d/db (a + b) at b = a.
  const auto confusing = [](const auto& a) {
    return a * jvp([](const auto& b, const auto& c) { return c + b; }, std::tuple{a, a},
                   std::tuple{ones_like(Tensor<double>(1.0)), zeros_like(Tensor<double>(1.0))})
                   .second;
  };
  CHECK(jvp(confusing, one, one).second.item() == 1);
}

TEST_CASE("jvp: a tangent of another shape is refused") {
  CHECK_THROWS_WITH_AS(jvp([](const auto& a) { return a; }, x, Tensor<double>{1.0, 2.0}),
                       doctest::Contains("jvp: tangent 0 has shape [2]"), shape_error);
}
