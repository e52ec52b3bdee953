// SPDX-License-Identifier: BSL-1.0
// What becomes of tensors, their views and gradients when an optimizer moves them into its buffers: each handle still
// means what it meant, and each gradient, whatever made it, is found in the buffer.
#include <doctest/doctest.h>

#include <kiln/kiln.hpp>
#include <kiln/nn/convert.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/sgd.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace kiln;

namespace {

using list = std::vector<double>;

list values(const Tensor<double>& x) {
  const Tensor<double> here = x.detach().clone();
  return {here.span().begin(), here.span().end()};
}

template <class F>
std::string text_of(F f) {
  try {
    f();
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

/// Two parameters in the buffers of an optimizer.
struct pair_of_parameters {
  Tensor<double> w{{1, 2, 3}, {4, 5, 6}}, b{7, 8};
  optim::SGD<double> opt;
  pair_of_parameters() : opt((w.requires_grad(), b.requires_grad(), std::vector{w, b}), {.lr = 1}) {}
  /// Whether both gradients are parts of one buffer, as the optimizer wants them.
  bool at_home() const { return b.grad().data() == w.grad().data() + 8 && b.data() == w.data() + 8; }
};

}  // namespace

TEST_CASE("flat memory: tensors keep their values, at multiples of 64 bytes, whoever holds them and however large") {
  for (const std::int64_t n : {0, 1, 8, 9, 100, 20000}) {
    CAPTURE(n);
    Tensor<double> a = arange<double>(n), b = arange<double>(2 * n).reshape({2, n}).t().clone();
    a.requires_grad(), b.requires_grad();
    const Tensor<double> other = a, view = a.slice(0, n / 2), turned = b.t(), apart = a.detach();
    const list before_a = values(a), before_b = values(b), before_view = values(view), before_turned = values(turned);
    optim::SGD opt(std::vector{a, b});
    CHECK((values(a) == before_a && values(b) == before_b && values(other) == before_a));
    CHECK((values(view) == before_view && values(turned) == before_turned && values(apart) == before_a));
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
    CHECK(b.data() == a.data() + (n + 7) / 8 * 8);
    CHECK((other.data() == a.data() && turned.data() == b.data() && view.data() == a.data() + n / 2));
    if (n == 0) continue;
    {
      const no_grad quiet;
      a += 1.0, b *= 2.0;
    }
    CHECK(view(0) == before_view[0] + 1);
    CHECK(turned(-1, -1) == 2 * before_turned.back());
    CHECK(apart(0) == before_a[0]);  // as documented: detach() before the move kept the old memory
  }
}

TEST_CASE("flat memory: views of views, expanded ones and gradients through views made before the move") {
  Tensor<double> w{{1, 2, 3}, {4, 5, 6}};
  w.requires_grad();
  const Tensor<double> row = w.t().select(1, 1).slice(0, 1), wide = w.select(0, 0).expand({4, 3});
  optim::SGD opt(std::vector{w}, {.lr = 1});
  CHECK(values(row) == list{5, 6});
  CHECK(values(wide) == list{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  backward(sum(row * row) + sum(wide));
  CHECK(values(w.grad()) == list{4, 4, 4, 0, 10, 12});
  opt.step();
  CHECK(values(w) == list{-3, -2, -1, 4, -5, -6});
  CHECK(values(row) == list{-5, -6});
  CHECK(values(wide)[0] == -3);
}

TEST_CASE("flat memory: a graph from before the move still has the values that it was made of") {
  Tensor<double> w{1, 2, 3};
  w.requires_grad();
  const Tensor<double> y = sum(w * w * w);
  const auto lazy = w * 10.0;
  optim::SGD opt(std::vector{w}, {.lr = 1});
  backward(y);
  CHECK(values(w.grad()) == list{3, 12, 27});
  CHECK(values(lazy) == list{10, 20, 30});
}

TEST_CASE("flat memory: a step changes what views and expressions see, and a graph that read the old values is told") {
  pair_of_parameters p;
  const Tensor<double> y = sum(p.w * p.w), z = sum(p.b * 2.0);
  backward(y, {.retain_graph = true});
  p.opt.step();  // of w alone
  CHECK(values(p.w) == list{-1, -2, -3, -4, -5, -6});
  CHECK(values(p.b) == list{7, 8});
  CHECK_THROWS_AS(backward(y), graph_error);
  const Tensor<double> untouched = sum(p.b * p.b);
  backward(sum(p.w * p.w));
  p.opt.step();
  backward(untouched);  // b has not been changed, though its neighbour in the buffer has
  CHECK(values(p.b.grad()) == list{14, 16});
}

TEST_CASE("gradients come home: from products, views, detach, batch norm, hooks, several uses and several passes") {
  pair_of_parameters p;
  const auto check = [&](const list& w, const list& b) {
    CHECK(p.at_home());
    CHECK(values(p.w.grad()) == w);
    CHECK(values(p.b.grad()) == b);
    p.opt.zero_grad();
    CHECK_FALSE(p.w.has_grad());
  };
  SUBCASE("a kernel and a product") {
    const Tensor<double> x{{1, 1, 1}};
    backward(sum(matmul(x, p.w.t()) * p.b));
    check({7, 7, 7, 8, 8, 8}, {6, 15});
  }
  SUBCASE("views that are all of it hand their memory over") {
    backward(sum(p.w.reshape({6}) * arange<double>(6)) + sum(p.b.reshape({1, 2}) * 3.0));
    check({0, 1, 2, 3, 4, 5}, {3, 3});
  }
  SUBCASE("several uses in one pass") {
    backward(sum(p.w.reshape({6}) * 2.0) + sum(p.w) + sum(p.b.select(0, 1) * 5.0) + sum(p.b));
    check({3, 3, 3, 3, 3, 3}, {1, 6});
  }
  SUBCASE("several passes add up") {
    backward(sum(p.w) + sum(p.b));
    const double* const at = p.w.grad().data();
    backward(sum(p.w * 2.0) + sum(p.b * 3.0));
    CHECK(p.w.grad().data() == at);
    check({3, 3, 3, 3, 3, 3}, {4, 4});
  }
  SUBCASE("clone and detach") {
    backward(sum(p.w.clone() * p.w.detach()) + sum(p.b.clone()));
    check({1, 2, 3, 4, 5, 6}, {1, 1});
  }
  SUBCASE("a leaf that is the loss itself") {
    backward(p.w, ones<double>({2, 3}) * 2.0);
    backward(p.b, Tensor<double>{1, 2});
    check({2, 2, 2, 2, 2, 2}, {1, 2});
  }
  SUBCASE("a hook that gives another tensor") {
    auto hook = p.w.on_gradient([](const Tensor<double>& g) { return Tensor<double>(g * 10.0); });
    backward(sum(p.w) + sum(p.b));
    check({10, 10, 10, 10, 10, 10}, {1, 1});
  }
  SUBCASE("create_graph, whose gradients have histories, and a pass after it") {
    backward(sum(p.w * p.w * p.w) + sum(p.b * p.b), {.create_graph = true});
    CHECK(p.w.grad().needs_grad());
    p.opt.step();
    CHECK(values(p.w) == list{-2, -10, -24, -44, -70, -102});
    check({3, 12, 27, 48, 75, 108}, {14, 16});
  }
  SUBCASE("grad() leaves the buffer alone") {
    backward(sum(p.w) + sum(p.b));
    const auto both = grad(Tensor<double>(sum(p.w * 4.0)), std::vector{p.w});
    CHECK(values(both[0])[0] == 4);
    check({1, 1, 1, 1, 1, 1}, {1, 1});
  }
  SUBCASE("a pass that fails leaves no trace") {
    Tensor<double> x{1, 2};
    const Tensor<double> broken = sum(x * p.b), y = exp(p.b);
    Tensor<double> changed = y * y;
    {
      const no_grad quiet;
      Tensor<double>(y).detach() += 1.0;
    }
    CHECK_THROWS_AS(backward(sum(changed) + sum(p.b * 100.0)), graph_error);
    CHECK_FALSE(p.b.has_grad());
    backward(broken + sum(p.w));
    check({1, 1, 1, 1, 1, 1}, {1, 2});
  }
  SUBCASE("requires_grad off and on again makes another record") {
    p.w.requires_grad(false), p.w.requires_grad();
    backward(sum(p.w * 2.0) + sum(p.b));
    p.opt.step();
    CHECK(values(p.w) == list{-1, 0, 1, 2, 3, 4});
    check({2, 2, 2, 2, 2, 2}, {1, 1});
  }
}

TEST_CASE("gradients come home: of batch norm's weight and bias") {
  Tensor<double> x = arange<double>(12).reshape({3, 2, 2}), w{1, 2}, b{0, 1}, mean = zeros<double>({2}),
                 variance = ones<double>({2});
  w.requires_grad(), b.requires_grad();
  const Tensor<double> c = arange<double>(12).reshape({3, 2, 2}) * 0.5;
  const auto loss = [&] { return sum(batch_norm(x, mean, variance, w, b, {.training = true}) * c); };
  backward(loss());
  const list plain_w = values(w.grad()), plain_b = values(b.grad());
  w.zero_grad(), b.zero_grad();
  optim::SGD opt(std::vector{w, b});
  backward(loss());
  CHECK((values(w.grad()) == plain_w && values(b.grad()) == plain_b));
  CHECK(b.grad().data() == w.grad().data() + 8);
  backward(loss());
  CHECK(values(b.grad()) == list{2 * plain_b[0], 2 * plain_b[1]});
  CHECK(b.grad().data() == w.grad().data() + 8);
}

TEST_CASE("a gradient that somebody keeps over zero_grad() keeps its values, as PyTorch's does") {
  pair_of_parameters p;
  backward(sum(p.w) + sum(p.b));
  const Tensor<double> kept = p.w.grad(), view = kept.reshape({6});
  p.opt.zero_grad();
  backward(sum(p.w * 5.0) + sum(p.b));
  CHECK(values(kept) == list{1, 1, 1, 1, 1, 1});
  CHECK(values(view) == list{1, 1, 1, 1, 1, 1});
  CHECK(values(p.w.grad()) == list{5, 5, 5, 5, 5, 5});
  CHECK(p.at_home());
  p.w.zero_grad();  // the tensor's own
  backward(sum(p.w));
  CHECK(p.at_home());
}

TEST_CASE("zero_grad with zeros fills what is there") {
  pair_of_parameters p;
  backward(sum(p.w));
  p.opt.zero_grad(false);
  CHECK(values(p.w.grad()) == list{0, 0, 0, 0, 0, 0});
  CHECK_FALSE(p.b.has_grad());
}

TEST_CASE("a gradient from before the optimizer, and tensors of a smaller one, move along") {
  Tensor<double> a{1, 2}, b{3, 4};
  a.requires_grad(), b.requires_grad();
  backward(sum(a * 3.0));
  optim::SGD first(std::vector{a}, {.lr = 1});
  CHECK(values(a.grad()) == list{3, 3});
  optim::SGD both(std::vector{a, b}, {.lr = 1});
  both.step();
  CHECK(values(a) == list{-2, -1});
  CHECK(values(b) == list{3, 4});
}

TEST_CASE("optimizers with one list of parameters share the buffers, others take them from each other and say so") {
  pair_of_parameters p;
  optim::SGD again(std::vector{p.w, p.b}, {.lr = 0.5});
  backward(sum(p.w) + sum(p.b));
  p.opt.step(), again.step();
  CHECK(values(p.b) == list{5.5, 6.5});
  CHECK(p.at_home());
  optim::SGD part(std::vector{p.b}, {.lr = 0.5});
  part.step();
  CHECK(values(p.b) == list{5, 6});
  CHECK(p.at_home());
  optim::SGD other(std::vector{p.b, p.w}, {.lr = 1});
  CHECK(values(p.b.grad()) == list{1, 1});
  CHECK(text_of([&] { p.opt.step(); })
            .find("step: parameter 0, of shape [2, 3], has been moved out of this optimizer's "
                  "flat buffer") == 0);
  other.step();
  CHECK(values(p.b) == list{4, 5});
  CHECK(values(p.w)[0] == -1.5);
}

TEST_CASE("what cannot be optimized is refused by name") {
  Tensor<double> w{{1, 2}, {3, 4}}, b{1, 2};
  w.requires_grad(), b.requires_grad();
  const auto refused = [](const std::vector<Tensor<double>>& all) { return text_of([&] { optim::SGD opt(all); }); };
  CHECK(refused({}).find("there are no parameters") != std::string::npos);
  CHECK(refused({w, b, w}).find("is parameter 0 once more") != std::string::npos);
  CHECK(refused({w, w.detach()}).find("parameters 0 and 1 share elements") != std::string::npos);
  CHECK(refused({w.select(0, 1)}).find("computed from others") != std::string::npos);
  const Tensor<double> plain{1, 2};
  CHECK(refused({plain.slice(0, 1)}).find("is a view of another tensor") != std::string::npos);
  CHECK(refused({Tensor<double>(w * 2.0)}).find("computed from others") != std::string::npos);
  CHECK(refused({w, Tensor<double>()}).find("no value yet") != std::string::npos);
  optim::SGD opt(std::vector{w});
  CHECK(text_of([&] {
          opt.add_param_group({b, w});
        }).find("parameter 1, of shape [2, 2], is in group 0 already") != std::string::npos);
  CHECK(text_of([&] { opt.step(); }).find("step: no parameter has a gradient") == 0);
  CHECK_THROWS_AS(opt.lr(1), index_error);
  backward(sum(w));
  w = w.detach() * 2.0;  // another tensor, of which the optimizer knows nothing
  CHECK(text_of([&] { opt.step(); }).find("nobody but the optimizer has parameter 0, of shape [2, 2], any more") !=
        std::string::npos);
}

TEST_CASE("a parameter that was never asked for a gradient is refused, one that was frozen is not") {
  struct model {
    nn::Linear<float> linear{3, 1};
    Tensor<float> scale = ones<float>({1});
  };
  model forgotten;
  const auto refused = [](const model& net) { return text_of([&] { optim::SGD opt(nn::parameters(net)); }); };
  CHECK(refused(forgotten).find("parameter 2, of shape [1], does not require grad") != std::string::npos);
  const model copy = nn::clone(forgotten);
  CHECK(refused(copy).find("does not require grad") != std::string::npos);
  forgotten.scale.requires_grad();
  CHECK(refused(forgotten) == "");
  model frozen;
  frozen.scale.requires_grad();
  nn::freeze(frozen.linear);
  CHECK(refused(frozen) == "");
  CHECK(refused(nn::clone(frozen)) == "");
  const auto in_double = nn::to<double>(frozen.linear);
  CHECK(text_of([&] { optim::SGD opt(nn::parameters(in_double)); }) == "");
}

TEST_CASE("a parameter that was replaced while another handle to it lives: the step goes to the old tensor") {
  Tensor<double> w{1, 2};
  w.requires_grad();
  const Tensor<double> old = w;
  optim::SGD opt(std::vector{w}, {.lr = 1});
  backward(sum(w));
  w = Tensor<double>{5, 6};
  opt.step();
  CHECK(values(old) == list{0, 1});
  CHECK(values(w) == list{5, 6});
}

TEST_CASE("parameters outlive their optimizer") {
  Tensor<double> w{1, 2};
  w.requires_grad();
  {
    optim::SGD opt(std::vector{w}, {.lr = 1});
    backward(sum(w));
    opt.step();
  }
  CHECK(values(w) == list{0, 1});
  backward(sum(w));
  CHECK(values(w.grad()) == list{2, 2});
  w.zero_grad();
  backward(sum(w * 3.0));
  CHECK(values(w.grad()) == list{3, 3});
}

TEST_CASE("threads that run backward passes through the same parameters add up in their homes") {
  pair_of_parameters p;
  for (int round = 0; round < 50; ++round) {
    p.opt.zero_grad();
    std::vector<std::thread> threads;
    for (int k = 1; k <= 3; ++k)
      threads.emplace_back([&, k] { backward(sum(p.w * static_cast<double>(k)) + sum(p.b * p.b)); });
    for (std::thread& t : threads) t.join();
    p.opt.options().lr = 0;
    p.opt.step();
    REQUIRE(values(p.w.grad()) == list{6, 6, 6, 6, 6, 6});
    REQUIRE(values(p.b.grad()) == list{42, 48});
    REQUIRE(p.at_home());
  }
}
