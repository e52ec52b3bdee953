// SPDX-License-Identifier: BSL-1.0
// The backward pass: accumulation, what is freed and kept, what is refused, graphs of any depth, memory that stays.
#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/hooks.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/views.hpp>

using namespace kiln;
using doctest::Contains;

namespace {

Tensor<float> leaf(std::initializer_list<float> values) {
  Tensor<float> t(new_tensor(dtype::float32, {static_cast<std::int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), t.data());
  t.requires_grad();
  return t;
}
auto kept_expression(const Tensor<float>& w) {
  const Tensor<float> local{10, 20, 30};
  return w * local + 1.0f;
}

}  // namespace

TEST_CASE("backward: gradients add up over passes, uses and paths") {
  auto w = leaf({1, 2, 3});
  backward(sum(w * w));
  backward(sum(w * 3.0f));
  CHECK(w.grad()(1) == 7);
  w.zero_grad();
  CHECK_FALSE(w.has_grad());
  const Tensor<float> h = w * w, left = h * 2.0f, right = exp(h * 0.0f) + h;
  backward(sum(left + right + w));
  CHECK(w.grad()(2) == 2 * 3 * 2 + 2 * 3 + 1);
}

TEST_CASE("backward: of a leaf itself, with a gradient given, and through an expression that outlived its parts") {
  auto w = leaf({1, 2, 3});
  const Tensor<float> g{4, 5, 6};
  backward(w, g);
  backward(w, g);
  CHECK(w.grad()(2) == 12);
  CHECK(g(2) == 6);
  w.zero_grad();
  backward(Tensor<float>(kept_expression(w)), g);
  CHECK(w.grad()(1) == 100);
  w.zero_grad();
  backward(Tensor<float>(w * 2.0f), g * 0.5f + 1.0f);
  CHECK(w.grad()(2) == 8);
  w.zero_grad();
  backward(w * 2.0f, g);  // of an expression, as of a tensor
  (w * 2.0f).backward(g * 2.0f);
  CHECK(w.grad()(2) == 36);
  Tensor<float> number(2.0f);
  number.requires_grad();
  backward(number * number * number);
  CHECK(number.grad().item() == 12);
}

TEST_CASE("backward: a gradient that is a strided view is used as it is") {
  Tensor<float> w{{1, 2}, {3, 4}};
  w.requires_grad();
  const Tensor<float> g{{1, 10}, {100, 1000}};
  backward(Tensor<float>(w * 2.0f), g.transpose(0, 1));
  CHECK(w.grad()(0, 1) == 200);
  CHECK(w.grad()(1, 0) == 20);
}

TEST_CASE("backward: a leaf's own gradient can be handed in") {
  Tensor<float> w{{1, 2}, {3, 4}}, x{{5, 6}, {7, 8}};
  w.requires_grad();
  backward(sum(w * x));
  backward(Tensor<float>(matmul(w, x)), w.grad());  // adds x x^T
  CHECK(w.grad()(0, 0) == 5 + 25 + 36);
  CHECK(w.grad()(1, 1) == 8 + 49 + 64);
  CHECK(w.grad()(1, 0) == 7 + 35 + 48);
}

TEST_CASE("backward: a graph is freed unless it is to be retained") {
  auto w = leaf({1, 2, 3});
  const Tensor<float> loss = sum(w * w);
  backward(loss, {.retain_graph = true});
  backward(loss);
  CHECK(w.grad()(0) == 4);
  CHECK_THROWS_WITH_AS(backward(loss), Contains("retain_graph"), graph_error);
  CHECK(w.grad()(0) == 4);
  const Tensor<float> h = w * w, one = sum(h), two = sum(h * 2.0f);
  backward(one);
  CHECK_THROWS_AS(backward(two), graph_error);
  backward(sum(w * w));
  CHECK(w.grad()(0) == 8);
}

TEST_CASE("backward: what cannot be differentiated says so") {
  auto w = leaf({1, 2, 3});
  const Tensor<float> plain{1, 2, 3}, y = w * plain;
  CHECK_THROWS_WITH_AS(backward(y), Contains("[3]"), graph_error);
  CHECK_THROWS_WITH_AS(backward(sum(plain)), Contains("requires_grad()"), graph_error);
  CHECK_THROWS_WITH_AS(backward(y, Tensor<float>{1, 2}), Contains("[2]"), shape_error);
  CHECK_THROWS_WITH_AS((void)plain.grad(), Contains("does not require grad"), graph_error);
  CHECK_THROWS_WITH_AS((void)w.grad(), Contains("no gradient yet"), graph_error);
  Tensor<float> computed = w * 2.0f;
  CHECK_THROWS_WITH_AS(computed.requires_grad(), Contains("detach()"), graph_error);
  CHECK_THROWS_WITH_AS(backward(Tensor<float>()), Contains("no value"), value_error);
  CHECK_NOTHROW(backward(y, plain));  // none of this has harmed the graph
}

TEST_CASE("backward: a parameter that was made anew, not changed, says where its gradient went") {
  Tensor<float> a{1, 2};
  a.requires_grad();
  backward(sum(a * a));
  a = a - 0.1f * a.grad();
  CHECK_THROWS_WITH_AS(a.grad(), Contains("(a = a - ... makes a new tensor)"), graph_error);
  CHECK_THROWS_WITH_AS(a.grad(), Contains("a -= 0.1f * a.grad()"), graph_error);
}

TEST_CASE("backward: no_grad and detach end the graph") {
  auto w = leaf({1, 2, 3});
  Tensor<float> y;
  {
    const no_grad quiet;
    const no_grad nested;
    y = w * 2.0f;
    CHECK_FALSE(grad_enabled());
  }
  CHECK(grad_enabled());
  CHECK_FALSE(y.needs_grad());
  backward(sum(w * w.detach()));
  CHECK(w.grad()(2) == 3);
  const Tensor<float> values = detach(w * w);  // of an expression
  CHECK(values(2) == 9);
  CHECK_FALSE(values.needs_grad());
  CHECK(detach(w).data() == w.data());
  CHECK_FALSE(detach(w).needs_grad());
  CHECK_THROWS_AS(
      [] {
        const no_grad quiet;
        throw value_error("out of the scope");
      }(),
      value_error);
  CHECK(grad_enabled());
}

TEST_CASE("backward: integers and conditions let no gradient through, their neighbours get theirs") {
  auto w = leaf({1, -2, 3});
  const Tensor<int> n{1, 2, 0};
  backward(sum(where(w > 0.0f, w * n, 5.0f)));
  CHECK(w.grad()(0) == 1);
  CHECK(w.grad()(1) == 0);
  CHECK(w.grad()(2) == 0);
  w.zero_grad();
  backward(sum(cast<float>(cast<int>(w)) * w));
  CHECK(w.grad()(1) == -2);
}

TEST_CASE("backward: after a pass that fails, the loss can be computed again") {
  auto w = leaf({1, 2, 3}), v = leaf({1, 1, 1});
  const Tensor<float> x{4, 5, 6};
  Tensor<float> a = w * x, b = v * 2.0f;
  const Tensor<float> loss = sum(a * b);
  a += 1.0f;
  CHECK_THROWS_AS(backward(loss), graph_error);
  const Tensor<float> again = sum(w * x * v);
  w.zero_grad();
  v.zero_grad();
  backward(again);
  CHECK(v.grad()(2) == 18);
}

TEST_CASE("backward: a pass that fails leaves gradients as they were") {
  auto w = leaf({1, 1}), v = leaf({1, 1});
  backward(sum(w * 2.0f));
  Tensor<float> a = w * v;
  const Tensor<float> loss = sum(a * a) + sum(w * 2.0f);  // the second sum goes first
  a += 1.0f;
  CHECK_THROWS_AS(backward(loss), graph_error);
  CHECK(w.grad()(0) == 2);
  CHECK_FALSE(v.has_grad());
  backward(sum(w * 2.0f));
  CHECK(w.grad()(0) == 4);
  const auto from_before = w.grad();  // the same elements as after the next pass
  backward(sum(w * 3.0f));
  CHECK(from_before(1) == 7);
}

TEST_CASE("backward: 20,000 nodes deep, walked and taken apart without recursion") {
  auto w = leaf({1, 1});
  for (bool walk : {true, false}) {
    Tensor<float> y = w * 1.0f;
    for (int i = 0; i < 20000; ++i) y = y * 1.0f + w * 0.5f;
    if (!walk) break;
    backward(sum(y));
    CHECK(w.grad()(0) == 10001);
  }
  Tensor<float> view = w.reshape({2, 1});
  for (int i = 0; i < 20000; ++i) view = view.transpose(0, 1);
  w.zero_grad();
  backward(sum(view));
  CHECK(w.grad()(1) == 1);
}

TEST_CASE("backward: 10,000 training steps take no more memory than 100") {
  Tensor<float> w1(new_tensor(dtype::float32, {4, 8})), b1(new_tensor(dtype::float32, {8})),
      w2(new_tensor(dtype::float32, {8, 1}));
  Tensor<float> x(new_tensor(dtype::float32, {16, 4})), t(new_tensor(dtype::float32, {16, 1}));
  int k = 0;
  for (auto* p : {&w1, &b1, &w2, &x, &t})
    for (float& value : p->span()) value = 0.3f * static_cast<float>(std::sin(++k));
  for (auto* p : {&w1, &b1, &w2}) p->requires_grad();
  float first = 0, last = 0;
  std::size_t used = 0;
  for (int step = 0; step < 10000; ++step) {
    const Tensor<float> h = tanh(matmul(x, w1) + b1), loss = mean(square(matmul(h, w2) - t));
    for (auto* p : {&w1, &b1, &w2}) p->zero_grad();
    backward(loss);
    for (auto* p : {&w1, &b1, &w2}) *p -= 0.1f * p->grad();
    last = loss.item();
    if (step == 0) first = last;
    const auto now = cpu::memory_stats().in_use;
    if (step == 100) used = now;
    if (step > 100) REQUIRE(now <= used);
  }
  CHECK(last < first);
}

namespace {
// Computes when its thread, or the program, ends.
struct last_words {
  Tensor<float> w;
  float* heard = nullptr;
  ~last_words() {
    if (!heard) return;
    backward(sum(w * w));
    *heard = w.grad()(0);
  }
};
float heard_at_exit = 0;
last_words of_program;
thread_local last_words of_thread;
}  // namespace

TEST_CASE("backward: runs while a thread ends and its thread-local objects with it") {
  float heard = 0;
  std::thread([&heard] {
    of_thread.w = leaf({3});
    of_thread.heard = &heard;
    backward(sum(of_thread.w * 1.0f));
  }).join();
  CHECK(heard == 7);
  of_program.w = leaf({3});  // the sanitizers watch
  of_program.heard = &heard_at_exit;
}

TEST_CASE("backward: a gradient that nobody else has gives its memory to the one computed from it") {
  Tensor<double> x{0.1, -0.2, 0.3};
  x.requires_grad();
  const Tensor<double> a = x * 2.0, b = tanh(a), c = exp(b);
  const void *of_a = nullptr, *of_b = nullptr;
  a.on_gradient([&](const Tensor<double>& g) { of_a = g.data(); });
  b.on_gradient([&](const Tensor<double>& g) { of_b = g.data(); });
  SUBCASE("the next one is computed in its place") {
    backward(sum(c));
    CHECK(of_a == of_b);
  }
  SUBCASE("one that somebody keeps stays as it is") {
    Tensor<double> kept;
    b.on_gradient([&](const Tensor<double>& g) { kept = g; });
    backward(sum(c));
    CHECK(of_a != of_b);
    for (int i = 0; i < 3; ++i) CHECK(kept(i) == doctest::Approx(std::exp(std::tanh(2 * x.detach()(i)))));
  }
  for (int i = 0; i < 3; ++i) {
    const double t = std::tanh(2 * x.detach()(i));
    CHECK(x.grad()(i) == doctest::Approx(2 * (1 - t * t) * std::exp(t)));
  }
}

TEST_CASE("backward: a gradient that goes to two operands is there for both") {
  Tensor<double> x{0.1, -0.2, 0.3}, y{1.0, 2.0, 3.0};
  x.requires_grad(), y.requires_grad();
  const Tensor<double> a = exp(x), b = a * y, c = a + y, d = tanh(c), e = b * d;
  backward(sum(e));
  for (int i = 0; i < 3; ++i) {
    const double u = std::exp(x.detach()(i)), v = y.detach()(i), t = std::tanh(u + v), s = 1 - t * t;
    CHECK(x.grad()(i) == doctest::Approx(u * (v * t + u * v * s)));
    CHECK(y.grad()(i) == doctest::Approx(u * t + u * v * s));
  }
}

TEST_CASE("backward: an expression lets go of the gradient that it has read") {
  Tensor<double> x{1, -2, 3};
  x.requires_grad();
  const Tensor<double> y = relu(x * 2.0);
  const no_grad quiet;
  ref<tensor_state> arrived = Tensor<double>{1, 1, 5}.state();
  const ref<gradient_record> record = y.state()->autograd_metadata;
  record->producer->backward_last(arrived, record);
  CHECK_FALSE(arrived);
  CHECK(x.grad()(0) == 2);
  CHECK(x.grad()(1) == 0);
  CHECK(x.grad()(2) == 10);
}
