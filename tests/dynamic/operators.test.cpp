// SPDX-License-Identifier: BSL-1.0
#include <kiln/dynamic/operators.hpp>
#include <kiln/dynamic/shape.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace dynamic = kiln::dynamic;
using dynamic::tensor;

TEST_CASE("operators: what C++ computes of the same numbers, with tensors and numbers on either side") {
  const std::vector<double> left{1.5, -2, 3}, right{4, 0.5, -8};
  const tensor a = dynamic::from_host(kiln::dtype::float64, {3}, left.data()),
               b = dynamic::from_host(kiln::dtype::float64, {3}, right.data());
  const tensor all = dynamic::stack(
      std::vector<tensor>{a + b, a - b, a * b, a / b, -a, a + 2, 2 - a, 3 * a, 1.0 / b, b - 1, a * 0.5f, b / 4, 7 + b});
  std::vector<double> found(static_cast<std::size_t>(all.numel()));
  all.to_host(found.data());
  for (std::size_t i = 0; i < 3; ++i) {
    const double x = left[i], y = right[i];
    const std::vector<double> expected{x + y, x - y, x * y, x / y,   -x,    x + 2, 2 - x,
                                       3 * x, 1 / y, y - 1, x * 0.5, y / 4, 7 + y};
    for (std::size_t row = 0; row < expected.size(); ++row) CHECK(found[row * 3 + i] == expected[row]);
  }
}

TEST_CASE("operators: a number changes a tensor's type by its category only, and gradients go through") {
  const std::vector<float> values{1, 2};
  tensor x = dynamic::from_host(kiln::dtype::float32, {2}, values.data());
  CHECK((x * 2.5).type() == kiln::dtype::float32);
  CHECK((dynamic::arange(3) + 1).type() == kiln::dtype::int64);
  CHECK((dynamic::arange(3) * 0.5).type() == kiln::dtype::float32);
  x.requires_grad_();
  dynamic::reduce("sum", 3 * x * x - x / 2).backward();  // 6 x - 1/2
  std::vector<float> grad(2);
  x.grad().to_host(grad.data());
  CHECK(grad == std::vector<float>{5.5f, 11.5f});
  CHECK_THROWS_AS(x + dynamic::zeros({3}), const kiln::shape_error&);
}
