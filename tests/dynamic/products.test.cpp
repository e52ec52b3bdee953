// SPDX-License-Identifier: BSL-1.0
// Products by hand, and their gradients.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

TEST_CASE("products") {
  for (const dtype type : {dtype::float32, dtype::float64}) {
    tensor a = made({2, 2}, {1, 2, 3, 4}, type), b = made({2, 1}, {5, 6}, type);
    a.requires_grad_();
    b.requires_grad_();
    const tensor p = matmul(a, call("mul", {b, scalar(2)}));
    CHECK(values(p) == std::vector<double>{34, 78});
    reduce("sum", call("mul", {p, made({2, 1}, {1, 10}, type)})).backward();
    CHECK(near(values(a.grad()), {10, 12, 100, 120}));
    CHECK(near(values(b.grad()), {62, 84}));
  }
  const tensor stack = made({2, 1, 2}, {1, 2, 3, 4});
  CHECK(values(bmm(stack, transpose(stack, 1, 2))) == std::vector<double>{5, 25});
  CHECK(values(linear(made({1, 2}, {1, 2}), made({3, 2}, {1, 0, 0, 1, 1, 1}), made({3}, {10, 20, 30}))) ==
        std::vector<double>{11, 22, 33});
  CHECK(values(linear(made({1, 2}, {1, 2}), made({1, 2}, {1, 1}))) == std::vector<double>{3});
  CHECK(dot(made({2}, {1, 2}), made({2}, {3, 4})).item() == 11);
  CHECK(matmul(made({1, 1}, {2}), made({1, 1}, {3}, dtype::float64)).type() == dtype::float64);
  CHECK_THROWS_AS(matmul(made({1, 2}, {1, 2}), made({1, 2}, {1, 2})), kiln::shape_error);
  CHECK_THROWS_AS(matmul(made({1, 1}, {1}, dtype::int8), made({1, 1}, {1}, dtype::int8)), kiln::dtype_error);
  CHECK_THROWS_AS(bmm(stack, made({1, 2, 1}, {1, 2})), kiln::shape_error);
  CHECK_THROWS_AS(dot(made({2}, {1, 2}), made({1}, {1})), kiln::shape_error);
}
