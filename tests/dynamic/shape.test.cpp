// SPDX-License-Identifier: BSL-1.0
// Views against positions written out by hand; their gradients; joining.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/dynamic/shape.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

TEST_CASE("views show the elements where they lie") {
  for (const dtype type : {dtype::float32, dtype::int64, dtype::boolean, dtype::float16}) {
    const tensor x = made({2, 3}, {0, 1, 0, 1, 1, 0}, type);
    CHECK(values(transpose(x, 0, 1)) == std::vector<double>{0, 1, 1, 1, 0, 0});
    CHECK(transpose(x, 0, 1).state()->memory == x.state()->memory);
    CHECK(reshape(x, {3, -1}).sizes() == kiln::dims{3, 2});
  }
  const tensor x = made({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(values(permute(x, {1, 0})) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(values(reshape(transpose(x, 0, 1), {6})) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(flatten(x).sizes() == kiln::dims{6});
  CHECK(unsqueeze(x, -1).sizes() == kiln::dims{2, 3, 1});
  CHECK(squeeze(unsqueeze(x, 0)).sizes() == kiln::dims{2, 3});
  CHECK(squeeze(unsqueeze(x, 0), 0).sizes() == kiln::dims{2, 3});
  CHECK(movedim(unsqueeze(x, 0), 0, 2).sizes() == kiln::dims{2, 3, 1});
  CHECK(values(expand(made({2, 1}, {1, 2}), {2, 2})) == std::vector<double>{1, 1, 2, 2});
  CHECK(values(narrow(x, 1, 1, 2)) == std::vector<double>{2, 3, 5, 6});
  CHECK(values(slice(x, 1, 0, 3, 2)) == std::vector<double>{1, 3, 4, 6});
  CHECK(values(select(x, 0, -1)) == std::vector<double>{4, 5, 6});
  CHECK(values(diagonal(x)) == std::vector<double>{1, 5});
  CHECK(values(tril(x)) == std::vector<double>{1, 0, 0, 4, 5, 0});
  CHECK(values(triu(x, 1)) == std::vector<double>{0, 2, 3, 0, 0, 6});
  CHECK(triu(made({2, 2}, {1, 2, 3, 4}, dtype::int32)).type() == dtype::int32);
  CHECK(tril(made({2, 2}, {1, 1, 1, 1}, dtype::boolean)).type() == dtype::boolean);
  CHECK_THROWS_AS(reshape(x, {4}), kiln::shape_error);
  CHECK_THROWS_AS(narrow(x, 1, 2, 2), kiln::index_error);
  CHECK_THROWS_AS(expand(x, {2, 4}), kiln::shape_error);
  CHECK_THROWS_AS(tril(made({2}, {1, 2})), kiln::shape_error);
}

TEST_CASE("what is pending is evaluated for a view, and gradients go through") {
  tensor x = made({2, 2}, {1, 2, 3, 4});
  x.requires_grad_();
  const tensor y = call("mul", {x, x});
  reduce("sum", call("mul", {select(y, 0, 1), made({2}, {1, 10})})).backward();
  CHECK(near(values(x.grad()), {0, 0, 6, 80}));
  x.zero_grad();
  reduce("sum", call("mul", {transpose(reshape(x, {4, 1}), 0, 1), made({4}, {1, 2, 3, 4})})).backward();
  CHECK(near(values(x.grad()), {1, 2, 3, 4}));
}

TEST_CASE("writing through a view is seen by its base") {
  const tensor x = made({2, 2}, {1, 2, 3, 4});
  select(x, 0, 0).fill_(9);
  CHECK(values(x) == std::vector<double>{9, 9, 3, 4});
  const tensor y = call("neg", {x});
  select(x, 1, 0).fill_(7);
  CHECK_THROWS_AS(y.eval(), kiln::graph_error);
}

TEST_CASE("side by side") {
  tensor a = made({1, 2}, {1, 2}), b = made({2, 2}, {3, 4, 5, 6});
  a.requires_grad_();
  const std::vector<tensor> parts{a, b};
  CHECK(values(cat(parts)) == std::vector<double>{1, 2, 3, 4, 5, 6});
  reduce("sum", call("mul", {cat(parts), made({3, 1}, {2, 3, 4})})).backward();
  CHECK(near(values(a.grad()), {2, 2}));
  CHECK(cat(std::vector<tensor>{a, made({1, 2}, {1, 2}, dtype::float64)}).type() == dtype::float64);
  const std::vector<tensor> rows{made({2}, {1, 2}), made({2}, {3, 4})};
  CHECK(values(stack(rows, -1)) == std::vector<double>{1, 3, 2, 4});
  CHECK(stack(rows).sizes() == kiln::dims{2, 2});
  CHECK_THROWS_AS(cat({}), kiln::value_error);
  CHECK_THROWS_AS(stack(parts), kiln::shape_error);
  CHECK_THROWS_WITH_AS(stack(rows, 2), "stack: axis 2 is outside [-2, 1] of a tensor with 2 axes", kiln::index_error);
  CHECK_THROWS_AS(cat(parts, 1), kiln::shape_error);
}
