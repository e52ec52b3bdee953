// SPDX-License-Identifier: BSL-1.0
// where: which operand is chosen, and that the other leaves no trace.
#include <kiln/ops/where.hpp>

#include <kiln/expr/reductions.hpp>

#include "battery.hpp"

using namespace battery;

TEST_CASE("where: chooses element by element, for every element type") {
  REQUIRE(is_tested<where_op>);
  auto check = [&]<class T>(std::type_identity<T>) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17}, std::size_t{1000}}) {
      std::vector<T> a, b;
      Tensor<bool> c(new_tensor(dtype::boolean, {static_cast<std::int64_t>(n)}));
      for (std::size_t i = 0; i < n; ++i) {
        c.data()[i] = i % 3 == 1;
        a.push_back(static_cast<T>(static_cast<int>(i % 100)));
        b.push_back(static_cast<T>(1));
      }
      const auto y = evaluated(where(c, tensor_of(a), tensor_of(b)));
      const auto z = evaluated(where(c, tensor_of(a), T(1)));
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(y.data()[i] == (i % 3 == 1 ? a[i] : b[i]));
        CHECK(z.data()[i] == y.data()[i]);
      }
    }
  };
  check(std::type_identity<float>{});
  check(std::type_identity<double>{});
  check(std::type_identity<std::int8_t>{});
  check(std::type_identity<std::int64_t>{});
  check(std::type_identity<half>{});
}

TEST_CASE("where: all three operands broadcast; the condition may be any type") {
  const Tensor<float> y = where(Tensor<int>{{0}, {2}}, Tensor<float>{1.0f, 2.0f, 3.0f}, -1);
  CHECK(y.sizes() == dims{2, 3});
  CHECK(y(0, 2) == -1);
  CHECK(y(1, 2) == 3);
  CHECK(evaluated(where(Tensor<bool>{true, false}, 1, 2)).dtype() == dtype::int64);
  CHECK(evaluated(where(Tensor<bool>{true, false}, 1, 0.5)).dtype() == dtype::float32);
  CHECK(evaluated(where(true, Tensor<int>{1}, Tensor<double>{2.0})).dtype() == dtype::float64);
  CHECK_THROWS_AS(where(true, Tensor<std::int8_t>{std::int8_t(1)}, 200), value_error);
}

TEST_CASE("where: a nan that is not chosen shows in neither values nor its own gradient") {
  const double nan_value = std::numeric_limits<double>::quiet_NaN();
  const Tensor<double> a{1.0, nan_value}, b{nan_value, 2.0};
  const Tensor<double> y = where(Tensor<bool>{true, false}, a, b);
  CHECK(y(0) == 1);
  CHECK(y(1) == 2);
  const auto g = gradients_of<double>(
      [](auto p, auto q) {
        return where(Tensor<bool>{true, false}, p, q);
      },
      a.clone(), b.clone());
  CHECK(g == std::vector<double>{1, 0, 0, 1});
  // The way that the docs name.
  const auto safe = gradients_of<double>([](auto v) { return where(v > 0, sqrt(where(v > 0, v, 1.0)), 0.0); },
                                         Tensor<double>{4.0, -4.0});
  CHECK(safe == std::vector<double>{0.25, 0});
  const auto check = check_gradient([](auto v, auto w) { return where(v > 0, v * w, w); },
                                    Tensor<double>{1.0, -1.0, 2.0}, Tensor<double>{3.0, 4.0, 5.0});
  CHECK_MESSAGE(check.agrees, check.text);
}

TEST_CASE("where: a branch that is not taken adds exactly 0 to the gradient, whatever its derivative") {
  const float inf = std::numeric_limits<float>::infinity();
  auto g = [](auto f, std::vector<float> at) { return gradients_of<float>(f, tensor_of(at)); };
  // Squares that overflow, in a branch within a branch.
  auto relu3 = [](auto x) { return where(x < 0, 0, where(x < 1, x * x * x / 3, x - 2.0 / 3)); };
  CHECK(g(relu3, {1e30f, 3e38f, inf, -1e30f, -inf, 0.5f, 2, 0}) == std::vector<float>{1, 1, 1, 0, 0, 0.25f, 1, 0});
  CHECK(g([](auto x) { return where(x > 0, sqrt(x), 0); }, {0, -0.0f, -4, 4}) == std::vector<float>{0, 0, 0, 0.25f});
  CHECK(g([](auto x) { return log(where(x > 0, x, 1)); }, {0, -2, 4}) == std::vector<float>{0, 0, 0.25f});
  CHECK(g([](auto x) { return where(x > 0, log(x), x); }, {0, -2, 4}) == std::vector<float>{1, 1, 0.25f});
  CHECK(g([](auto x) { return where(x != 0, x / x, 1); }, {0, 2}) == std::vector<float>{0, 0});
  CHECK(g([](auto x) { return where(x < 100, exp(x) * x, 0.5 * x); }, {200, 0}) == std::vector<float>{0.5f, 1});
  CHECK(g([](auto x) { return where(x > 0, 1 / x, x) * where(x > 0, sqrt(x), 2); }, {0, -1}) ==
        std::vector<float>{2, 2});
  // A branch that looks at the whole row: what arrives there is chosen first.
  CHECK(g([](auto x) { return where(x > 0, x * sum(where(x > 0, sqrt(x), 0)), 0); }, {0, 4, 1}) ==
        std::vector<float>{0, 3 + 5 * 0.25f, 3 + 5 * 0.5f});
  // Several leaves, one of them broadcast.
  const auto both = gradients_of<float>([](auto x, auto y) { return where(x > 0, y / x, y * x); },
                                        Tensor<float>{0.0f, 2.0f, -1.0f}, Tensor<float>{4.0f});
  CHECK(both == std::vector<float>{4, -1, 4, 0 + 0.5f - 1});
}
