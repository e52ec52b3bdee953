// SPDX-License-Identifier: BSL-1.0
// Optimizers by name: first steps by hand, state, refusals.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/autograd/node.hpp>
#include <kiln/dynamic/optimizers.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

namespace {
tensor learned(const std::vector<double>& values, dtype type = dtype::float64) {
  tensor w = made({static_cast<std::int64_t>(values.size())}, values, type);
  w.requires_grad_();
  return w;
}
tensor loss_of(const tensor& w) {
  return reduce("sum", call("square", {w}));
}
}  // namespace

TEST_CASE("a first step of each") {
  // The gradient is 2 w = (2, -4).
  const auto after = [](std::string_view name, const options& how) {
    const tensor w = learned({1, -2});
    const auto o = make_optimizer(name, {w}, how);
    loss_of(w).backward();
    o.step();
    CHECK(o.type() == name);
    return values(w);
  };
  CHECK(near(after("SGD", {{"lr", 0.25}}), {.5, -1}, 1e-12));
  CHECK(near(after("SGD", {{"lr", 0.25}, {"weight_decay", 1}}), {.25, -.5}, 1e-12));
  CHECK(near(after("Adam", {{"lr", 0.1}}), {.9, -1.9}, 1e-6));
  CHECK(near(after("AdamW", {{"lr", 0.1}, {"weight_decay", 0.5}}), {.85, -1.8}, 1e-6));
  CHECK(near(after("RMSprop", {{"lr", 0.1}, {"alpha", 0.75}}), {.8, -1.8}, 1e-6));
  CHECK(near(after("Adagrad", {{"lr", 0.1}}), {.9, -1.9}, 1e-6));
  CHECK(near(after("Lamb", {{"lr", 0.1}}), {1 - .1 * std::sqrt(2.5), -2 + .1 * std::sqrt(2.5)}, 1e-5));
}

TEST_CASE("state, learning rate, gradients") {
  tensor w = learned({1, 2, 3}, dtype::float32), b = learned({1}, dtype::float32);
  const auto o = make_optimizer("Adam", {w, b}, {{"lr", 0.5}, {"beta1", 0.5}});
  CHECK(o.lr() == 0.5);
  CHECK(o.state_count() == 0);
  CHECK_THROWS_AS(o.step(), kiln::graph_error);
  call("add", {loss_of(w), loss_of(b)}).backward();
  o.step();
  CHECK(o.state_count() == 4);
  CHECK(o.state_bytes() == 2 * 4 * 4);
  CHECK(o.state()[0].name == "exp_avg");
  CHECK(near(values(o.state()[0].value), {1, 2, 3}));
  o.zero_grad();
  CHECK(!w.grad().defined());
  o.set_lr(0);
  const auto before = values(w);
  const double first = o.step([&] {
    const tensor loss = call("add", {loss_of(w), loss_of(b)});
    loss.backward();
    return loss;
  });
  CHECK(first > 0);
  CHECK(values(w) == before);
  CHECK_THROWS_AS(o.set_lr(-1), kiln::value_error);
}

TEST_CASE("LBFGS finds the least square") {
  const tensor w = learned({5, -3});
  const auto o = make_optimizer("LBFGS", {w}, {{"line_search_fn", "strong_wolfe"}});
  CHECK_THROWS_AS(o.step(), kiln::value_error);
  const double first = o.step([&] {
    const tensor loss = loss_of(call("sub", {w, scalar(1)}));
    loss.backward();
    return loss;
  });
  CHECK(first == 16 + 16);
  CHECK(near(values(w), {1, 1}, 1e-6));
}

TEST_CASE("what was pending when a step changed its operands is refused, not wrong") {
  const tensor w = learned({1, 2});
  const auto o = make_optimizer("SGD", {w}, {{"lr", 1}});
  loss_of(w).backward();
  const tensor before = call("neg", {w});
  o.step();
  CHECK_THROWS_AS(before.eval(), kiln::graph_error);
}

TEST_CASE("refusals") {
  const tensor w = learned({1}), plain = made({1}, {1}, dtype::float64);
  CHECK(holds(said<kiln::value_error>([&] { make_optimizer("Adan", {w}); }), "\"Adan\""));
  CHECK(holds(said<kiln::value_error>([&] { make_optimizer("SGD", {w}, {{"beta1", 1}}); }), "\"beta1\""));
  CHECK(holds(said<kiln::value_error>([&] { make_optimizer("SGD", {plain}); }), "requires_grad_()"));
  CHECK_THROWS_AS(make_optimizer("SGD", {}), kiln::value_error);
  CHECK_THROWS_AS(make_optimizer("SGD", {w, learned({1}, dtype::float32)}), kiln::dtype_error);
  CHECK_THROWS_AS(make_optimizer("SGD", {w}, {{"lr", -1}}), kiln::value_error);
  CHECK_THROWS_AS(optimizer().step(), kiln::value_error);
}

TEST_CASE("a state that is kept goes on as if nothing had been") {
  for (const char* name : {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Lamb"}) {
    CAPTURE(name);
    const auto how = std::string_view(name) == "SGD" ? options{{"lr", 0.1}, {"momentum", 0.9}} : options{{"lr", 0.1}};
    const auto steps = [](const optimizer& o, const tensor& w, int n) {
      for (int i = 0; i < n; ++i) {
        o.zero_grad();
        loss_of(w).backward();
        o.step();
      }
    };
    const tensor whole = learned({1, 2});
    steps(make_optimizer(name, {whole}, how), whole, 5);
    const tensor first = learned({1, 2});
    const auto before = make_optimizer(name, {first}, how);
    steps(before, first, 3);
    const auto kept = before.state_dict();
    const tensor second = learned(values(first));
    const auto after = make_optimizer(name, {second}, {{"lr", 7}});
    steps(before, first, 2);  // what was kept is a copy
    if (std::string_view(name) != "SGD") after.load_state_dict(kept);
    if (std::string_view(name) == "SGD") {
      const auto same = make_optimizer(name, {second}, how);
      same.load_state_dict(kept);
      steps(same, second, 2);
    } else {
      CHECK(after.lr() == 0.1);
      steps(after, second, 2);
    }
    CHECK(values(second) == values(whole));
    const tensor other = learned({1, 2, 3});
    const auto wrong = make_optimizer(name, {other}, how);
    CHECK(holds(said<kiln::value_error>([&] { wrong.load_state_dict(kept); }),
                std::string_view(name) == "SGD" ? "momentum" : "state"));
    CHECK(wrong.state().empty());
  }
}
