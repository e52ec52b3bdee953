// SPDX-License-Identifier: BSL-1.0
// Losses by name against their formulas.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/dynamic/losses.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

TEST_CASE("losses of two tensors") {
  const tensor x = made({2}, {0.5, 4}), y = made({2}, {1, 1});
  CHECK(near(values(make_loss("mse")(x, y)), {(.25 + 9) / 2}));
  CHECK(near(values(make_loss("mse", {{"reduction", "sum"}})(x, y)), {9.25}));
  CHECK(near(values(make_loss("mse", {{"reduction", "none"}})(x, y)), {.25, 9}));
  CHECK(near(values(make_loss("l1")(x, y)), {1.75}));
  CHECK(near(values(make_loss("smoothl1", {{"beta", 2}, {"reduction", "none"}})(x, y)), {.0625, 2}));
  CHECK(near(values(make_loss("huber", {{"delta", 2}, {"reduction", "none"}})(x, y)), {.125, 4}));
  const tensor p = made({2}, {.25, .5}), t = made({2}, {1, 0});
  CHECK(near(values(make_loss("bce")(p, t)), {(std::log(4.) + std::log(2.)) / 2}));
  CHECK(near(values(make_loss("bcelogits")(made({1}, {0}), made({1}, {1}))), {std::log(2.)}));
  CHECK(near(values(make_loss("kl", {{"reduction", "sum"}})(call("log", {p}), made({2}, {.5, .5}))),
             {.5 * std::log(2.)}));
  CHECK_THROWS_AS(make_loss("mse")(x, made({1}, {1})), kiln::shape_error);
}

TEST_CASE("losses of classes, and their gradients") {
  tensor scores = made({2, 2}, {0, 0, 0, std::log(3.)}, dtype::float64);
  scores.requires_grad_();
  const tensor target = made({2}, {0, 1}, dtype::int32);
  const tensor loss = make_loss("ce")(scores, target);
  CHECK(near(values(loss), {(std::log(2.) + std::log(4 / 3.)) / 2}, 1e-12));
  loss.backward();
  CHECK(near(values(scores.grad()), {-.25, .25, .125, -.125}, 1e-12));
  CHECK(near(values(make_loss("nll")(log_softmax(scores), target)), values(loss), 1e-12));
  CHECK(near(values(make_loss("ce")(scores, made({2, 2}, {1, 0, 0, 1}, dtype::float64))), values(loss), 1e-12));
  CHECK_THROWS_AS(make_loss("ce")(scores, made({2}, {0, 2}, dtype::int64)), kiln::index_error);
  CHECK_THROWS_AS(make_loss("nll")(scores, made({2}, {0, 1})), kiln::dtype_error);
}

TEST_CASE("refusals") {
  CHECK(holds(said<kiln::value_error>([] { make_loss("hinge"); }), "\"hinge\""));
  CHECK(holds(said<kiln::value_error>([] { make_loss("mse", {{"delta", 1}}); }), "\"delta\""));
  CHECK(holds(said<kiln::value_error>([] { make_loss("mse", {{"reduction", "max"}}); }), "\"reduction\""));
}
