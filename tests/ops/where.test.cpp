// SPDX-License-Identifier: BSL-1.0
// where: which operand is chosen, and that the other leaves no trace.
#include <kiln/ops/where.hpp>

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
