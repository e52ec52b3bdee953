// SPDX-License-Identifier: BSL-1.0
// Hooks on gradients: when they are called, with what, and what they may change.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <kiln/autograd/anomaly.hpp>
#include <kiln/autograd/checkpoint.hpp>
#include <kiln/autograd/grad.hpp>
#include <kiln/autograd/hooks.hpp>
#include <kiln/device/cpu/memory/memory.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/nn/functional/dropout.hpp>
#include <kiln/ops/all.hpp>

using namespace kiln;

TEST_CASE("hooks: a leaf's is called once a pass, when the last node has added to it") {
  Tensor<double> w{1, 2}, x{3, 4};
  w.requires_grad(), x.requires_grad();
  std::vector<std::string> events;
  const Tensor<double> first = w * x;           // last to run
  const Tensor<double> second = first * first;  // reads w only by way of first
  const Tensor<double> third = second * x;
  auto handle = w.on_gradient([&](const Tensor<double>& g) { events.push_back("w " + std::to_string(g(0))); });
  x.on_gradient([&](const Tensor<double>& g) { events.push_back("x " + std::to_string(g(0))); });
  second.on_gradient([&](const Tensor<double>& g) { events.push_back("second " + std::to_string(g(0))); });
  const Tensor<double> loss = sum(third) + sum(w);
  backward(loss, {.retain_graph = true});
  // d/dw (w^2 x^3 + w) = 2 w x^3 + 1, d/dx = 3 w^2 x^2, at w = 1, x = 3
  REQUIRE(events.size() == 3);
  CHECK(events[0] == "second 3.000000");
  CHECK(((events[1] == "w 55.000000" && events[2] == "x 27.000000") ||
         (events[2] == "w 55.000000" && events[1] == "x 27.000000")));
  CHECK(w.grad()(0) == 55);
  backward(loss, {.retain_graph = true});  // hooks see the gradient of a pass, grad() has the sum
  CHECK(events.size() == 6);
  CHECK(w.grad()(0) == 110);
  handle.remove();
  handle.remove();
  backward(loss);
  CHECK(events.size() == 8);
}

TEST_CASE("hooks: a leaf's gradient is final while the pass goes on elsewhere") {
  Tensor<double> early{1, 2}, late{3, 4};
  early.requires_grad(), late.requires_grad();
  std::string order;
  early.on_gradient([&](const Tensor<double>&) { order += "early "; });
  late.on_gradient([&](const Tensor<double>&) { order += "late "; });
  const Tensor<double> a = late * 2.0, b = exp(a), c = b * early;
  b.on_gradient([&](const Tensor<double>&) { order += "b "; });
  backward(sum(c));
  CHECK(order == "early b late ");
}

TEST_CASE("hooks: what they return takes the gradient's place") {
  Tensor<double> x{1, 2};
  x.requires_grad();
  const Tensor<double> y = x * 3.0;
  y.on_gradient([](const Tensor<double>& g) { return g * 10.0; });
  x.on_gradient([](const Tensor<double>& g) { return g + 1.0; });
  backward(sum(y), {.retain_graph = true});
  CHECK(x.grad()(1) == 31);
  CHECK(grad(Tensor<double>(sum(y)), x)(0) == 31);
  CHECK(x.grad()(1) == 31);
  Tensor<double> z{1, 2};
  z.requires_grad();
  z.on_gradient([](const Tensor<double>& g) { return sum(g); });
  CHECK_THROWS_WITH_AS(backward(sum(z * z)), doctest::Contains("on_gradient: the hook of a tensor of shape [2]"),
                       shape_error);
  CHECK_FALSE(z.has_grad());
  CHECK_THROWS_WITH_AS((Tensor<double>{1, 2}.on_gradient([](const Tensor<double>&) {})),
                       doctest::Contains("does not require grad"), graph_error);
}

TEST_CASE("anomaly: the formula of the expression whose gradient made the first nan") {
  Tensor<double> x{0, 4};
  x.requires_grad();
  const Tensor<double> r = sqrt(x), y = r * 0.0;  // 0 / 0
  backward(sum(y), {.retain_graph = true});
  CHECK(x.grad()(0) != x.grad()(0));
  {
    const detect_anomaly on;
    Tensor<double> fine{1, 4};
    fine.requires_grad();
    CHECK_NOTHROW(backward(sum(sqrt(fine))));
    // The gradient of x was nan before: that is no news, and not what this pass makes.
    CHECK_NOTHROW(backward(sum(x * 2.0)));
    x.zero_grad();
    CHECK_THROWS_WITH_AS(backward(sum(y), {.retain_graph = true}),
                         doctest::Contains("sqrt(x0) made the first nan, in the gradient of operand 0, of shape [2]"),
                         graph_error);
  }
  CHECK_NOTHROW(backward(sum(y)));
}

TEST_CASE("checkpoint: the same gradients, of inputs and of what the function captures") {
  Tensor<double> x{0.5, 1.5}, w{2, 3}, constant{1, 1};
  x.requires_grad(), w.requires_grad();
  auto part = [w](const auto& a, const auto& b) { return sin(a * w) * b; };
  const Tensor<double> y = checkpoint(part, x, constant);
  CHECK(y(0) == std::sin(1.0));
  backward(sum(y * y));
  const auto gx = x.grad().clone(), gw = w.grad().clone();
  x.zero_grad(), w.zero_grad();
  const Tensor<double> z = part(x, constant);
  backward(sum(z * z));
  for (int i = 0; i < 2; ++i) {
    CHECK(gx(i) == x.grad()(i));
    CHECK(gw(i) == w.grad()(i));
  }
  const Tensor<double> again = checkpoint(part, x, constant);
  CHECK_THROWS_WITH_AS(backward(sum(again), {.create_graph = true}), doctest::Contains("create_graph"), graph_error);
  x += 1.0;
  CHECK_THROWS_WITH_AS(backward(sum(again)), doctest::Contains("changed in place"), graph_error);
}

TEST_CASE("checkpoint: draws the same random numbers again") {
  Tensor<float> x(new_tensor(dtype::float32, {1000}));
  x.fill_(1);
  x.requires_grad();
  manual_seed(3);
  const Tensor<float> y = checkpoint([](const auto& a) { return dropout(a * 1.0f, 0.5); }, x);
  const std::uint64_t position = default_generator().position();
  backward(sum(y));
  CHECK(default_generator().position() == position);
  bool same = true;
  for (int i = 0; i < 1000; ++i) same &= x.grad()(i) == y(i);
  CHECK(same);
}

TEST_CASE("checkpoint: draws of other threads change neither its numbers nor theirs") {
  Tensor<float> x(new_tensor(dtype::float32, {1000}));
  x.fill_(1);
  x.requires_grad();
  manual_seed(3);
  std::vector<std::uint64_t> places;  // that the other threads got
  int calls = 0;
  generator own(5);
  const Tensor<float> y = checkpoint(
      [&](const Tensor<float>& a) {
        // Another number of them each time.
        for (int k = 0; k < (calls == 0 ? 3 : 1); ++k)
          std::thread([&] { places.push_back(default_generator().take(7).first); }).join();
        ++calls;
        // Inner ones draw from the same sequence, as does what has a generator of its own.
        const Tensor<float> inner = checkpoint([](const auto& b) { return dropout(b * 1.0f, 0.5); }, a);
        return Tensor<float>(dropout(dropout(inner, 0.5), 0.5, true, own));
      },
      x);
  const std::uint64_t position = default_generator().position(), of_own = own.position();
  backward(sum(y));
  CHECK(calls == 2);
  CHECK(own.position() == of_own);
  CHECK(default_generator().position() == position + 7);
  std::sort(places.begin(), places.end());
  CHECK(std::adjacent_find(places.begin(), places.end()) == places.end());
  bool same = true;
  int dropped = 0;
  for (int i = 0; i < 1000; ++i) same &= x.grad()(i) == y(i), dropped += y(i) == 0;
  CHECK(same);
  CHECK(dropped > 800);
  CHECK(dropped < 950);
}
TEST_CASE("checkpoint: memory between the passes") {
  constexpr std::int64_t n = 1 << 16;
  Tensor<float> x(new_tensor(dtype::float32, {n}));
  x.fill_(0.5f);
  x.requires_grad();
  auto block = [](Tensor<float> a) {
    for (int i = 0; i < 4; ++i) a = Tensor<float>(sin(a) * a);  // each step keeps its operand
    return a;
  };
  auto kept = [&](auto step) {
    const std::size_t before = cpu::memory_stats().in_use;
    Tensor<float> y = x;
    for (int i = 0; i < 4; ++i) y = step(y);
    return (cpu::memory_stats().in_use - before) / (n * sizeof(float));
  };
  CHECK(kept(block) == 16);
  CHECK(kept([&](const Tensor<float>& a) { return Tensor<float>(checkpoint(block, a)); }) == 4);
}

TEST_CASE("what is to follow a pass is done when leaves have their gradients, and dropped if it fails") {
  struct note final : kiln::detail::after_delivery {
    const Tensor<double>& leaf;
    int& count;
    int& ended;
    note(const Tensor<double>& x, int& d, int& e) : leaf(x), count(d), ended(e) {}
    ~note() override { ++ended; }
    void delivered() override {
      CHECK(leaf.has_grad());
      ++count;
    }
  };
  Tensor<double> x{1, 2};
  x.requires_grad();
  int delivered = 0, ended = 0;
  const auto hook = x.on_gradient([&](const Tensor<double>&) {
    CHECK_FALSE(x.has_grad());
    CHECK_FALSE(detail::running_pass->is_inner());
    detail::running_pass->then(std::make_unique<note>(x, delivered, ended));
  });
  backward(sum(x * x));
  CHECK(delivered == 1);
  CHECK(ended == 1);

  x.zero_grad();
  const Tensor<double> y = x * 2.0;
  const auto after = x.on_gradient([](const Tensor<double>&) { throw std::runtime_error("no"); });
  CHECK_THROWS_AS(backward(sum(y)), std::runtime_error);
  CHECK(delivered == 1);
  CHECK(ended == 2);
}

TEST_CASE("of inner passes, what is to follow waits for the outermost") {
  Tensor<double> x{1, 2}, w{3, 4};
  x.requires_grad(), w.requires_grad();
  struct count final : kiln::detail::after_delivery {
    const Tensor<double>& outer_leaf;
    int& number;
    count(const Tensor<double>& leaf, int& d) : outer_leaf(leaf), number(d) {}
    void delivered() override {
      CHECK(outer_leaf.has_grad());
      ++number;
    }
  };
  int delivered = 0;
  const auto hook = w.on_gradient([&](const Tensor<double>&) {
    CHECK(detail::running_pass->is_inner());
    detail::running_pass->then(std::make_unique<count>(x, delivered));
  });
  backward(sum(checkpoint([&](const Tensor<double>& a) { return Tensor<double>(a * w); }, x)));
  CHECK(delivered == 1);
}

TEST_CASE("a hook that comes last sees what all others made of the gradient, whenever they were made") {
  struct last final : gradient_hook {
    double& seen;
    explicit last(double& s) : seen(s) { comes_last = true, add = kiln::detail::adding_kernel<double, Cpu>(); }
    ref<tensor_state> call(const ref<tensor_state>& gradient) override {
      seen = static_cast<const double*>(gradient->data)[0];
      return nullptr;
    }
  };
  Tensor<double> x{1};
  x.requires_grad();
  double seen = 0;
  detail::add_hook(x.state()->autograd_metadata, std::make_unique<last>(seen));
  const auto later = x.on_gradient([](const Tensor<double>& g) { return Tensor<double>(g * 5.0); });
  backward(sum(x * 2.0));
  CHECK(seen == 10);
}

TEST_CASE("hooks: a pass that one ends leaves gradients as they were, and is repeated if it retains the graph") {
  Tensor<double> w{1, 2}, v{3, 4};
  w.requires_grad(), v.requires_grad();
  backward(sum(w * 5.0));
  struct enough {};
  bool ends = true;
  const Tensor<double> middle = w * v;
  middle.on_gradient([&](const Tensor<double>&) {
    if (ends) throw enough{};
  });
  const Tensor<double> later = exp(middle) * v;
  const Tensor<double> loss = sum(later);
  for (int round = 0; round < 2; ++round) {
    CHECK_THROWS_AS(backward(loss, {.retain_graph = true}), enough);
    CHECK((w.grad()(0) == 5 && w.grad()(1) == 5));
    CHECK_FALSE(v.has_grad());
  }
  ends = false;
  backward(loss, {.retain_graph = true});
  for (int i = 0; i < 2; ++i) {
    CHECK(w.grad()(i) == doctest::Approx(5 + std::exp(w(i) * v(i)) * v(i) * v(i)));
    CHECK(v.grad()(i) == doctest::Approx(std::exp(w(i) * v(i)) * (1 + w(i) * v(i))));
  }
  // Without, what the pass went through was freed on its way: a repetition says so.
  ends = true;
  CHECK_THROWS_AS(backward(loss), enough);
  ends = false;
  const double before = w.grad()(0);
  CHECK_THROWS_WITH_AS(backward(loss), doctest::Contains("freed by an earlier backward pass"), graph_error);
  CHECK(w.grad()(0) == before);
}
