// SPDX-License-Identifier: BSL-1.0
// What threads share: parameters, graphs, views, slices of one tensor, the team that computes. Few expressions, since
// the thread sanitizer watches this file too.
#include <doctest/doctest.h>

#include <atomic>
#include <initializer_list>
#include <thread>
#include <utility>
#include <vector>

#include <kiln/autograd/grad.hpp>
#include <kiln/autograd/hooks.hpp>
#include <kiln/device/cpu/threads/threads.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/arithmetic.hpp>
#include <kiln/tensor/views.hpp>

using namespace kiln;

namespace {

Tensor<float> filled(const dims& sizes, float value) {
  Tensor<float> t(new_tensor(dtype::float32, sizes));
  t.fill_(value);
  return t;
}
Tensor<float> leaf(const dims& sizes, float value) {
  Tensor<float> t = filled(sizes, value);
  t.requires_grad();
  return t;
}
Tensor<float> scaled(const Tensor<float>& x, float by) {
  return x * by;
}
Tensor<float> total(const Tensor<float>& x) {
  return sum(x);
}
Tensor<float> times(const Tensor<float>& a, const Tensor<float>& b) {
  return a * b;
}

// Calls work(thread) on `count` threads at once, each as often as it says.
template <class Work>
void on_threads(int count, int rounds, Work work) {
  std::atomic<int> ready{0};
  std::vector<std::thread> team;
  for (int t = 0; t < count; ++t)
    team.emplace_back([&, t] {
      for (++ready; ready < count;) std::this_thread::yield();
      for (int i = 0; i < rounds; ++i) work(t);
    });
  for (std::thread& t : team) t.join();
}

}  // namespace

TEST_CASE("threads: graphs of their own do not disturb each other") {
  std::atomic<int> wrong{0};
  on_threads(4, 100, [&](int t) {
    const auto scale = static_cast<float>(t + 1);
    const Tensor<float> w = leaf({3000}, scale);
    backward(total(scaled(times(w, w), scale)));
    wrong += w.grad()(2999) != 2 * scale * scale || w.grad()(0) != 2 * scale * scale;
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads: passes into one parameter, also through one graph, lose nothing") {
  const Tensor<float> w = leaf({3}, 1), shared = scaled(w, 2);
  on_threads(4, 250, [&](int) {
    backward(total(scaled(w, 3)));
    backward(total(shared), {.retain_graph = true});
  });
  CHECK(w.grad()(0) == 4 * 250 * 5);
  CHECK(w.grad()(2) == 4 * 250 * 5);
}

TEST_CASE("threads: grad() goes through one graph on several, after different inputs, with hooks") {
  const Tensor<float> a = leaf({4}, 2), b = leaf({4}, 3);
  const Tensor<float> left = scaled(a, 5), right = times(left, b), y = total(times(right, right));
  std::atomic<int> wrong{0}, called{0};
  gradient_hook_handle hook = left.on_gradient([&called](const Tensor<float>&) { ++called; });
  on_threads(4, 250, [&](int t) {  // y = sum((5 a b)^2)
    const grad_options keep{.retain_graph = true};
    if (t == 0) wrong += grad(y, a, keep)(3) != 2 * 25 * 2 * 9;
    if (t == 1) wrong += grad(y, b, keep)(0) != 2 * 25 * 4 * 3;
    if (t == 2) wrong += grad(y, right, keep)(1) != 2 * 30;
    if (t == 3) wrong += grad(y, left, keep)(2) != 2 * 5 * 2 * 9;
  });
  hook.remove();
  CHECK(wrong == 0);
  CHECK(called == 2 * 250);  // on the way to a and left only
  CHECK_FALSE(a.has_grad());
  backward(y);
  CHECK(a.grad()(1) == 2 * 25 * 2 * 9);
  CHECK(b.grad()(1) == 2 * 25 * 4 * 3);
}

TEST_CASE("threads: functions of const tensors go together") {
  const Tensor<float> p = leaf({3}, 3);
  backward(total(scaled(p, 3)));
  std::atomic<int> right{0};
  on_threads(4, 250, [&](int) {
    right += p.grad()(1) == 3 && p.has_grad() && p.needs_grad() && p.select(0, 2).item() == 3 &&
             scaled(p.detach(), 2)(0) == 6 && p.sizes().rank() == 1;
  });
  CHECK(right == 1000);
}

TEST_CASE("threads: slices of one tensor that do not overlap are written, with and without gradients") {
  const Tensor<float> w = leaf({3}, 1);
  for (const bool tracked : {false, true}) {
    Tensor<float> x = filled({4, 3}, 0);
    on_threads(4, 100, [&](int t) {
      Tensor<float> row = x.select(0, t);
      row += 1.0f;
    });
    if (tracked)
      on_threads(4, 1, [&](int t) {
        Tensor<float> row = x.select(0, t);
        row += w;
      });
    for (int t = 0; t < 4; ++t) CHECK(x(t, 1) == (tracked ? 101 : 100));
    if (tracked) backward(total(x));
  }
  CHECK(w.grad()(2) == 4);
}

TEST_CASE("threads: one view, whose base got another history, is used by several") {
  const Tensor<float> w = leaf({4}, 5);
  std::atomic<int> right{0};
  for (int round = 0; round < 50; ++round) {
    Tensor<float> x = filled({4}, 0);
    const Tensor<float> part = x.slice(0, 1, 3);
    x += w;
    on_threads(3, 1, [&](int) {
      const Tensor<float> y = scaled(part, 2);
      right += y.needs_grad() && y(0) + y(1) == 20;
    });
  }
  CHECK(right == 150);
}

TEST_CASE("threads: a leaf may end on one while a pass goes through what was made of it on another") {
  for (int round = 0; round < 100; ++round) {
    const Tensor<float> kept = leaf({3}, 2);
    Tensor<float> ends = leaf({3}, 4);
    backward(total(scaled(ends, 1)));  // so that there is a gradient to end
    const Tensor<float> y = times(ends, kept);
    on_threads(2, 1, [&](int t) {
      if (t == 0) backward(total(y));
      if (t == 1) ends = Tensor<float>();
    });
    CHECK(kept.grad()(1) == 4);
  }
}

TEST_CASE("threads: how many compute may change during sums, forward and back") {
  const int before = cpu::num_threads();
  const Tensor<float> b = leaf({700}, 1);
  const Tensor<float> rows = filled({100, 700}, 2);
  std::atomic<int> wrong{0}, left{3};
  on_threads(4, 1, [&](int t) {
    if (t == 0) {
      for (int i = 0; left > 0; ++i) {
        set_num_threads(i % 7 + 1);
        std::this_thread::yield();
      }
      return;
    }
    for (int i = 0; i < 30; ++i) {
      const Tensor<float> loss = total(times(rows, b));
      wrong += loss.item() != 2 * 70000;
      const Tensor<float> g = grad(loss, b);
      for (const float value : g.span()) wrong += value != 200;
    }
    --left;
  });
  set_num_threads(before);
  CHECK(wrong == 0);
}
