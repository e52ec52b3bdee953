// SPDX-License-Identifier: BSL-1.0
// Handles: what they share, what they say, writing in place, and the way to static tensors and back.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <limits>
#include <vector>

#include <kiln/tensor/creation.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

TEST_CASE("handles share; what has no value says so") {
  const tensor none;
  CHECK(!none.defined());
  CHECK(holds(said<kiln::value_error>([&] { none.sizes(); }), "no value"));
  CHECK_THROWS_AS(tensor::of(nullptr), kiln::value_error);
  const tensor x = made({2, 3}, {1, 2, 3, 4, 5, 6}), y = x;
  CHECK(x.use_count() == 2);
  CHECK(x.dim() == 2);
  CHECK(x.size(-1) == 3);
  CHECK(x.numel() == 6);
  CHECK(x.type() == dtype::float32);
  CHECK(!x.is_lazy());
  CHECK(x.state() == y.state());
  const tensor z = call("exp", {x});
  CHECK(x.use_count() == 2);  // a pending call holds the value, not the handle
  CHECK(z.is_lazy());
}

TEST_CASE("static tensors and back share elements") {
  kiln::Tensor<double> s = kiln::zeros<double>({2});
  tensor x = s;
  CHECK(x.type() == dtype::float64);
  s.fill_(3);
  CHECK(near(values(x), {3, 3}));
  x.fill_(4);
  CHECK(s(1) == 4);
  CHECK(holds(said<kiln::dtype_error>([&] { x.as<float>(); }), "float64[2]"));
  x.requires_grad_();
  CHECK(s.needs_grad());
  const kiln::Tensor<double> y(x.as<double>() * s);
  tensor(y).backward(made({2}, {1, 1}, dtype::float64));
  CHECK(near(values(x.grad()), {8, 8}));
}

TEST_CASE("elements") {
  CHECK(made({1, 1}, {2.5}).item() == 2.5);
  CHECK(made({}, {7}, dtype::uint8).item_int64() == 7);
  CHECK(made({}, {2.5}, dtype::float16).item() == 2.5);
  CHECK_THROWS_AS(made({2}, {1, 2}).item(), kiln::shape_error);
  CHECK_THROWS_AS(made({}, {1}).item_int64(), kiln::dtype_error);
  CHECK(scalar(2.5).item() == 2.5);
  CHECK(scalar(std::int64_t{1} << 60).item_int64() == std::int64_t{1} << 60);
  CHECK(scalar(true).type() == dtype::boolean);
  const kiln::Tensor<float> wide{{1, 2}, {3, 4}};
  const tensor turned = kiln::Tensor<float>(wide.transpose());
  CHECK(values(turned) == std::vector<double>{1, 3, 2, 4});
  CHECK(turned.contiguous().state()->contiguous);
  std::vector<float> out(4);
  turned.to_host(out.data());
  CHECK(out == std::vector<float>{1, 3, 2, 4});
}

TEST_CASE("in place") {
  tensor x = made({2, 2}, {1, 2, 3, 4});
  const tensor shared = x.detach();
  x.assign_(made({2}, {7, 8}, dtype::int64));
  CHECK(near(values(shared), {7, 8, 7, 8}));
  x.assign_(call("add", {x, x}));
  CHECK(near(values(shared), {14, 16, 14, 16}));
  CHECK_THROWS_AS(x.assign_(made({3}, {1, 2, 3})), kiln::shape_error);
  CHECK_THROWS_AS(x.assign_(made({1, 2, 2}, {1, 2, 3, 4})), kiln::shape_error);
  tensor i = made({2}, {1, 2}, dtype::int8);
  CHECK_THROWS_AS(i.assign_(made({2}, {1, 2})), kiln::dtype_error);
  CHECK_THROWS_AS(i.fill_(0.5), kiln::value_error);
  CHECK_THROWS_AS(i.fill_(1000), kiln::value_error);
  CHECK_THROWS_AS(i.fill_(std::numeric_limits<double>::quiet_NaN()), kiln::value_error);
  CHECK(values(i) == std::vector<double>{1, 2});
  i.fill_(-3);
  CHECK(values(i) == std::vector<double>{-3, -3});
  CHECK_THROWS_AS(i.assign_(scalar(0.5)), kiln::dtype_error);
  tensor truth = made({2}, {0, 0}, dtype::boolean);
  truth.fill_(1);
  CHECK(values(truth) == std::vector<double>{1, 1});
  CHECK_THROWS_AS(truth.fill_(2), kiln::dtype_error);
  x.fill_(0.5);
  CHECK(near(values(shared), {.5, .5, .5, .5}));
}

TEST_CASE("a number that is written to, or learned, is a tensor") {
  tensor s = scalar(2.0);
  const tensor x = made({1}, {3}, dtype::float16), before = call("mul", {x, s});
  CHECK(before.type() == dtype::float16);
  s.as<float>().fill_(9);
  CHECK(s.item() == 2);
  CHECK_THROWS_AS(s.assign_(made({2}, {1, 2})), kiln::shape_error);
  CHECK(call("mul", {x, s}).type() == dtype::float16);
  s.fill_(5);
  CHECK(s.item() == 5);
  CHECK_THROWS_AS(before.eval(), kiln::graph_error);
  const tensor after = call("mul", {x, s});
  CHECK(after.type() == dtype::float32);
  CHECK(after.item() == 15);
  tensor w = scalar(2.0);
  w.requires_grad_();
  call("mul", {w, made({1}, {3})}).backward();
  CHECK(w.grad().item() == 3);
}

TEST_CASE("in place and gradients") {
  tensor w = made({2}, {1, 2}), x = made({2}, {3, 4});
  w.requires_grad_();
  CHECK(w.is_leaf());
  reduce("sum", call("mul", {w, x})).backward();
  w.assign_(call("sub", {w.detach(), w.grad()}));
  CHECK(near(values(w), {-2, -2}));
  CHECK(w.requires_grad());
  CHECK(holds(said<kiln::graph_error>([&] { w.assign_(call("mul", {w, w})); }), "leaf"));
  CHECK(near(values(w), {-2, -2}));
  // Of what was computed: the new value is a step like any other.
  tensor y = call("mul", {w, scalar(3)});
  y.eval();
  y.assign_(call("mul", {w, x}));
  w.zero_grad();
  reduce("sum", y).backward();
  CHECK(near(values(w.grad()), {3, 4}));
  // A value that a backward pass needs.
  const tensor z = call("square", {x}), used = call("mul", {w, z.eval()});
  used.eval();
  tensor(z).fill_(0);
  CHECK_THROWS_AS(reduce("sum", used).backward(), kiln::graph_error);
}

TEST_CASE("refusals of gradients") {
  tensor x = made({2}, {1, 2}), i = made({2}, {1, 2}, dtype::int32);
  CHECK_THROWS_AS(i.requires_grad_(), kiln::dtype_error);
  CHECK_THROWS_AS(i.backward(), kiln::dtype_error);
  CHECK_THROWS_AS(reduce("sum", x).backward(), kiln::graph_error);
  x.requires_grad_();
  tensor y = call("mul", {x, x});
  CHECK_THROWS_AS(y.backward(), kiln::graph_error);
  CHECK_THROWS_AS(y.requires_grad_(), kiln::graph_error);
  CHECK_THROWS_AS(y.backward(made({2}, {1, 1}, dtype::float64)), kiln::dtype_error);
  CHECK_THROWS_AS(y.backward(made({3}, {1, 1, 1})), kiln::error);
  const tensor loss = reduce("sum", y);
  loss.backward({}, true);
  loss.backward();
  CHECK(near(values(x.grad()), {4, 8}));
  CHECK_THROWS_AS(loss.backward(), kiln::graph_error);
  CHECK(x.to(device_kind::cpu).state() == x.state());
  CHECK_THROWS_AS(x.to(device_kind::cuda), kiln::device_error);
  CHECK(holds(said<kiln::device_error>([] { check_device(device_kind::cuda); }), "no CUDA in this build"));
}
