// SPDX-License-Identifier: BSL-1.0
// What goes on one tape and what does not, by counting tapes; and that values and gradients do not depend on it.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <thread>
#include <vector>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

namespace {
std::int64_t evaluations() {
  return statistics().evaluations;
}
tensor add(const tensor& a, const tensor& b) {
  return call("add", {a, b});
}
tensor mul(const tensor& a, const tensor& b) {
  return call("mul", {a, b});
}
tensor sub(const tensor& a, const tensor& b) {
  return call("sub", {a, b});
}
}  // namespace

TEST_CASE("a chain of calls on one domain with a reduction on top is one tape") {
  const tensor x = made({2, 2}, {1, 2, 3, 4}), y = made({2}, {10, 20});
  reset_statistics();
  tensor z = mul(add(x, y), scalar(2.0));
  for (int i = 0; i < 20; ++i) z = sub(z, x);
  z = reduce("sum", z, {1});
  CHECK(z.is_lazy());
  CHECK(near(values(z), {2 * 33 - 20 * 3, 2 * 37 - 20 * 7}));
  CHECK(!z.is_lazy());
  CHECK(evaluations() == 1);
  CHECK(statistics().instructions == 2 + 1 + 1 + 1 + 20 + 1);
  values(z);
  CHECK(evaluations() == 1);
}

TEST_CASE("reductions that meet their elements again go along, if they line up") {
  const tensor x = made({2, 3}, {1, 2, 3, 4, 6, 8});
  reset_statistics();
  SUBCASE("kept axes") {
    CHECK(near(values(sub(x, reduce("mean", x, {1}, true))), {-1, 0, 1, -2, 0, 2}));
    CHECK(evaluations() == 1);
  }
  SUBCASE("leading axes") {
    CHECK(near(values(sub(x, reduce("max", x, {0}))), {-3, -4, -5, 0, 0, 0}));
    CHECK(evaluations() == 1);
  }
  SUBCASE("all axes") {
    CHECK(near(values(call("div", {x, reduce("sum", x)})), {1 / 24., 2 / 24., 3 / 24., 4 / 24., 6 / 24., 8 / 24.}));
    CHECK(evaluations() == 1);
  }
  SUBCASE("one below another") {
    const tensor d = sub(x, reduce("max", x, {1}, true));
    CHECK(near(values(reduce("sum", call("square", {d}), {1})), {5, 20}));
    CHECK(evaluations() == 1);
  }
  SUBCASE("over other axes: by itself") {
    const tensor both = add(reduce("sum", x, {1}, true), reduce("sum", x, {0}, true));
    CHECK(near(values(both), {11, 14, 17, 23, 26, 29}));
    CHECK(evaluations() == 2);
  }
  SUBCASE("of what has been reduced: by itself") {
    CHECK(near(values(reduce("max", reduce("sum", x, {1}))), {18}));
    CHECK(evaluations() == 2);
  }
  SUBCASE("beside values per row") {
    const tensor weights = made({2}, {10, 100});
    CHECK(near(values(mul(reduce("sum", x, {1}), weights)), {60, 1800}));
    CHECK(evaluations() == 1);
    CHECK(near(values(mul(reduce("sum", x, {1}, true), made({1}, {3}))), {18, 54}));
  }
  SUBCASE("two at once") {
    const tensor range = sub(reduce("max", x, {1}), reduce("min", x, {1}));
    CHECK(near(values(range), {2, 4}));
    CHECK(evaluations() == 1);
  }
  SUBCASE("along an axis of one element") {
    const tensor one = made({3, 1}, {1, 2, 3});
    CHECK(near(values(sub(one, reduce("sum", one, {1}, true))), {0, 0, 0}));
    CHECK(near(values(reduce("sum", call("neg", {reduce("sum", one, {1}, true)}), {1})), {-1, -2, -3}));
    CHECK(near(values(add(reduce("sum", one, {1}, true), reduce("sum", one, {1}, true))), {2, 4, 6}));
    CHECK(near(values(softmax(reduce("sum", one, {1}, true), 1)), {1, 1, 1}));
    const tensor flat = made({1, 3}, {1, 2, 3});
    CHECK(near(values(add(reduce("sum", flat, {0}), reduce("sum", flat, {0}, true))), {2, 4, 6}));
  }
  SUBCASE("of no axes, and of nothing") {
    CHECK(near(values(reduce("sum", made({}, {3}))), {3}));
    CHECK(near(values(reduce("sum", made({0, 2}, {}), {0})), {0, 0}));
    CHECK(holds(said<kiln::value_error>([] { values(reduce("max", made({0, 2}, {}), {0})); }), "max"));
  }
}

TEST_CASE("what is chosen from elements is equal to one of them") {
  std::vector<double> a, b, c;
  for (int i = 0; i < 4000; ++i) {
    a.push_back(std::sin(i));
    b.push_back(std::cos(3 * i));
    c.push_back(std::sin(7 * i));
  }
  tensor x = made({4, 1000}, a), y = made({4, 1000}, b), z = made({4, 1000}, c);
  for (const std::int64_t axis : {0, 1}) {
    const tensor t = add(mul(x, y), z);
    const tensor hits = reduce("sum", call("eq", {t, reduce("max", t, {axis}, true)}), {axis});
    CHECK(values(hits) == std::vector<double>(axis == 0 ? 1000 : 4, 1));
    // And so in a gradient, which goes to that one alone.
    z.requires_grad_();
    const tensor u = add(mul(x, y), z);
    reduce("sum", add(reduce("sum", mul(u, u)), reduce("min", mul(u, add(u, x)), {axis}))).backward();
    for (const double g : values(z.grad())) CHECK(std::isfinite(g));
    z.requires_grad_(false);
  }
}

TEST_CASE("softmax goes along with what is below it and around it") {
  const tensor x = made({2, 2}, {0, std::log(3.), std::log(2.), 0});
  reset_statistics();
  const tensor p = mul(softmax(add(x, scalar(1.0)), 1), scalar(12.0));
  CHECK(near(values(p), {3, 9, 8, 4}));
  CHECK(evaluations() == 1);
  const tensor loss = call("neg", {reduce("mean", log_softmax(x, 1))});
  CHECK(near(values(loss), {-(std::log(.25) + std::log(.75) + std::log(2 / 3.) + std::log(1 / 3.)) / 4}));
}

TEST_CASE("another number makes no other program, and no other tape of the same form does") {
  reset_statistics();
  for (int i = 0; i < 5; ++i) {
    const tensor x = made({3}, {1, 2, 3}), y = made({3 + i}, std::vector<double>(static_cast<std::size_t>(3 + i), i));
    CHECK(near(values(call("fmod", {mul(x, scalar(i + 0.25)), scalar(1.0)})), {std::fmod(i + .25, 1), .5, .75}));
    values(call("fmod", {mul(y, scalar(2.0)), scalar(1.0)}));
  }
  CHECK(evaluations() == 10);
  CHECK(statistics().programs == 1);
}

TEST_CASE("what several tapes read is computed twice at most") {
  const tensor x = made({2}, {1, 2});
  tensor y = x;
  for (int i = 0; i < 10; ++i) y = call("sin", {y});
  reset_statistics();
  for (int i = 0; i < 10; ++i) values(mul(y, scalar(i)));
  CHECK(!y.is_lazy());
  CHECK(evaluations() == 11);
  CHECK(statistics().instructions == (1 + 10 + 2) + (1 + 10) + 9 * 3);
}

TEST_CASE("not lazy: each call is evaluated at once") {
  const tensor x = made({2}, {1, 2});
  reset_statistics();
  CHECK(set_lazy(false));
  const tensor y = add(mul(x, x), x);
  CHECK(!y.is_lazy());
  CHECK(evaluations() == 2);
  CHECK(!set_lazy(true));
  CHECK(near(values(y), {2, 6}));
}

TEST_CASE("long chains and wide graphs are evaluated on the way") {
  tensor x = made({2}, {1, 2});
  const tensor one = made({2}, {1, 1});
  reset_statistics();
  for (int i = 0; i < 100000; ++i) x = add(x, one);
  CHECK(near(values(x), {100001, 100002}, 1e-3));
  CHECK(evaluations() > 300);
  CHECK(evaluations() < 500);
  // Every step reads the one before twice.
  tensor y = made({1}, {1});
  for (int i = 0; i < 1000; ++i) y = sub(add(y, y), y);
  CHECK(near(values(y), {1}));
  // The same of values per row.
  tensor m = reduce("mean", made({2, 2}, {1, 3, 5, 7}), {1}, true);
  for (int i = 0; i < 200; ++i) m = sub(add(m, m), m);
  CHECK(near(values(sub(made({2, 2}, {1, 3, 5, 7}), m)), {-1, 1, -1, 1}));
  // More tensors than one kernel takes.
  tensor sum = made({1}, {0});
  for (int i = 0; i < 500; ++i) sum = add(sum, made({1}, {1}));
  CHECK(near(values(sum), {500}));
  // A tree that is deep on both sides.
  std::vector<tensor> all;
  for (int i = 0; i < 256; ++i) all.push_back(call("exp", {made({1}, {0})}));
  while (all.size() > 1) {
    std::vector<tensor> half;
    for (std::size_t i = 0; i < all.size(); i += 2) half.push_back(add(all[i], all[i + 1]));
    all = half;
  }
  CHECK(near(values(all[0]), {256}));
}

TEST_CASE("gradients of a tape are one node, and held intermediates keep their history") {
  tensor x = made({3}, {1, 2, 3});
  x.requires_grad_();
  const tensor y = mul(x, x);
  const tensor z = reduce("mean", y);
  CHECK(z.requires_grad());
  CHECK(!z.is_leaf());
  reset_statistics();
  z.backward();
  CHECK(evaluations() == 1);
  CHECK(y.is_lazy());
  CHECK(near(values(x.grad()), {2 / 3., 4 / 3., 2}));
  CHECK(near(values(y), {1, 4, 9}));
  CHECK(y.requires_grad());
  y.backward(made({3}, {1, 10, 100}));
  CHECK(near(values(x.grad()), {2 / 3. + 2, 4 / 3. + 40, 2 + 600}));
  x.zero_grad();
  CHECK(!x.grad().defined());
}

TEST_CASE("gradients through rows, broadcasts, choices and types") {
  SUBCASE("softmax and a product with a row") {
    tensor x = made({2, 2}, {0, 1, 2, 3}, dtype::float64), w = made({2}, {1, -1}, dtype::float64);
    x.requires_grad_();
    w.requires_grad_();
    reduce("sum", mul(softmax(x, 1), w)).backward();
    const double p = 1 / (1 + std::exp(1.)), g = 2 * p * (1 - p);
    CHECK(near(values(x.grad()), {g, -g, g, -g}, 1e-12));
    CHECK(near(values(w.grad()), {2 * p, 2 * (1 - p)}, 1e-12));
  }
  SUBCASE("x - mean(x)") {
    tensor x = made({1, 3}, {1, 2, 6}, dtype::float64);
    x.requires_grad_();
    reduce("sum", call("square", {sub(x, reduce("mean", x, {1}, true))})).backward();
    CHECK(near(values(x.grad()), {-4, -2, 6}, 1e-12));
  }
  SUBCASE("values per row beside reductions") {
    tensor x = made({2, 2}, {1, 2, 3, 4}), w = made({2}, {5, 6});
    x.requires_grad_();
    w.requires_grad_();
    mul(reduce("sum", mul(x, x), {1}), w).backward(made({2}, {1, 10}));
    CHECK(near(values(x.grad()), {10, 20, 360, 480}));
    CHECK(near(values(w.grad()), {5, 250}));
  }
  SUBCASE("the conventions at kinks are those of the op's own rule") {
    tensor x = made({3}, {-1, 0, 1});
    x.requires_grad_();
    call("relu", {x}).backward(made({3}, {1, 1, 1}));
    CHECK(near(values(x.grad()), {0, 0, 1}));
  }
  SUBCASE("a branch not taken leaves no trace") {
    tensor x = made({2}, {0, 4});
    x.requires_grad_();
    reduce("sum", call("where", {call("gt", {x, scalar(0)}), call("sqrt", {x}), scalar(0.0)})).backward();
    CHECK(near(values(x.grad()), {0, .25}));
  }
  SUBCASE("half is rounded once") {
    tensor x = made({2}, {1, 2}, dtype::float16);
    x.requires_grad_();
    const tensor y = mul(x, x);
    CHECK(y.type() == dtype::float16);
    reduce("sum", y).backward();
    CHECK(x.grad().type() == dtype::float16);
    CHECK(near(values(x.grad()), {2, 4}));
    CHECK(near(values(y), {1, 4}));
  }
  SUBCASE("of a type converted on the way") {
    tensor x = made({2}, {1, 2});
    x.requires_grad_();
    reduce("sum", mul(x.to(dtype::float64), made({2}, {3, 4}, dtype::float64))).backward();
    CHECK(x.grad().type() == dtype::float32);
    CHECK(near(values(x.grad()), {3, 4}));
  }
}

TEST_CASE("a node holds what its gradient reads, and nothing else") {
  tensor w = made({2}, {1, 2});
  w.requires_grad_();
  tensor x = made({2}, {3, 4}), b = made({2}, {5, 6});
  const auto holders = [](const tensor& t) { return t.state()->memory->references.load(); };
  const auto of_x = holders(x), of_b = holders(b);
  const tensor y = add(mul(w, x), b).eval();
  CHECK(holders(x) == of_x + 1);
  CHECK(holders(b) == of_b);
  b.fill_(0);
  reduce("sum", y).backward();
  CHECK(near(values(w.grad()), {3, 4}));
  CHECK(holders(x) == of_x);
}

TEST_CASE("second derivatives") {
  tensor x = made({2}, {2, 3}, dtype::float64);
  x.requires_grad_();
  reduce("sum", mul(mul(x, x), x)).backward({}, false, true);
  const tensor g = x.grad();
  CHECK(near(values(g), {12, 27}, 1e-12));
  x.zero_grad();
  reduce("sum", g).backward();
  CHECK(near(values(x.grad()), {12, 18}, 1e-12));
}

TEST_CASE("what was written without gradients stays without") {
  tensor x = made({2}, {1, 2});
  x.requires_grad_();
  const tensor quiet = [&] {
    const kiln::no_grad off;
    return mul(x, x);
  }();
  CHECK(!quiet.requires_grad());
  const tensor both = reduce("sum", mul(quiet, x));
  both.backward();
  CHECK(near(values(x.grad()), {1, 4}));
  CHECK(!quiet.requires_grad());
  // And what was written with them has them wherever it is evaluated.
  const tensor y = mul(x, x);
  {
    const kiln::no_grad off;
    y.eval();
  }
  CHECK(y.requires_grad());
  // A tensor that asks for gradients later: what was written before gives it none.
  tensor late = made({1}, {3});
  const tensor before = mul(late, late);
  late.requires_grad_();
  tensor other = made({1}, {5});
  other.requires_grad_();
  mul(before, other).backward();
  CHECK(!late.grad().defined());
  CHECK(near(values(other.grad()), {9}));
  const tensor again = mul(late, late);
  late.requires_grad_(false);
  CHECK(again.requires_grad());
}

TEST_CASE("in-place changes after lazy reads are noticed") {
  tensor x = made({2}, {1, 2});
  const tensor y = mul(x, x), z = add(y, scalar(1));
  x.fill_(5);
  CHECK(holds(said<kiln::graph_error>([&] { y.eval(); }), "changed in place"));
  CHECK(y.is_lazy());
  CHECK(holds(said<kiln::graph_error>([&] { values(z); }), "eval()"));
  CHECK(near(values(mul(x, x)), {25, 25}));
  // Of a value that was pending when it was read.
  tensor a = add(x, x);
  const tensor b = add(a, a);
  a.fill_(0);
  CHECK_THROWS_AS(b.eval(), kiln::graph_error);
  CHECK(near(values(add(a, a)), {0, 0}));
  // Through a static handle.
  const tensor c = call("neg", {x});
  x.as<float>() += 1.0f;
  CHECK_THROWS_AS(c.eval(), kiln::graph_error);
  CHECK(near(values(x), {6, 6}));
}

TEST_CASE("threads evaluate what is their own, from tensors of all") {
  tensor x = made({1000}, std::vector<double>(1000, 3));
  x.requires_grad_();
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (std::size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&x, &sum = sums[t], t] {
      for (int i = 0; i < 50; ++i) {
        const tensor y = mul(add(x, scalar(static_cast<double>(t))), x);
        sum += reduce("sum", sub(y, reduce("max", x))).item();
      }
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 0; t < sums.size(); ++t) CHECK(sums[t] == 50 * 1000 * (3 * (3. + static_cast<double>(t)) - 3));
}

TEST_CASE("an evaluation that throws leaves everything as it was") {
  const tensor a = made({2}, {7, 8}, dtype::int32), b = made({2}, {2, 0}, dtype::int32);
  const tensor q = call("fmod", {a, b}), r = add(q, scalar(1));
  CHECK_THROWS_AS(r.eval(), kiln::value_error);
  CHECK(r.is_lazy());
  CHECK(q.is_lazy());
  CHECK_THROWS_AS(r.eval(), kiln::value_error);
}
