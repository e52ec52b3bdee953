// SPDX-License-Identifier: BSL-1.0
// Assigning and changing in place: who sees the new values, what aliases, what is refused and what that leaves behind.
#include <doctest/doctest.h>

#include <kiln/autograd/backward.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/compute.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/views.hpp>
#include <support/compare.hpp>
#include <support/draw.hpp>

using namespace kiln;
using test::draw;
using test::naive;

TEST_CASE("compute: in place with operands placed in every way, itself and its own transpose among them") {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const auto s = d.shape(4, 4000);
    auto a = d.tensor<float>(s);
    const auto b = d.tensor<float>(d.narrower(s));
    CAPTURE(a.sizes());
    CAPTURE(a.strides());
    CAPTURE(b.sizes());
    naive want =
        test::map([](double x, double y) { return static_cast<float>(x * y + x); }, naive::of(a), naive::of(b));
    float* const before = a.data();
    a += a * b;
    CHECK(a.data() == before);
    CHECK(test::difference(a, want, 1e-6, 1e-6) == "");

    const std::int64_t n = d.integer(1, 150);
    auto m = d.tensor<double>({n, n});
    want = naive::of(m);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) want.values[static_cast<std::size_t>(i * n + j)] = m(i, j) * m(j, i);
    m *= m.transpose(0, 1);
    CHECK(test::difference(m, want) == "");
  }
}

TEST_CASE("compute: overlapping slices of one tensor are read before they are written") {
  for (std::int64_t n : {5, 100, 3000, 70000}) {
    auto a = draw(1).contiguous<float>({n});
    const naive before = naive::of(a);
    a.slice(0, 1).copy_(a.slice(0, 0, n - 1));
    CHECK(a(0) == static_cast<float>(before.values[0]));
    bool right = true;
    for (std::int64_t i = 1; i < n; ++i)
      right &= a(i) == static_cast<float>(before.values[static_cast<std::size_t>(i - 1)]);
    CHECK(right);
  }
}

TEST_CASE("compute: views write into what they look at and nowhere else") {
  Tensor<float> a(new_tensor(dtype::float32, {6, 7}));
  a.fill_(1);
  a.slice(0, 1, 5, 2).slice(1, 2, 4) += 10.0f;
  a.select(1, 6).fill_(5);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 7; ++j) CHECK(a(i, j) == (j == 6 ? 5 : (i == 1 || i == 3) && (j == 2 || j == 3) ? 11 : 1));
}

TEST_CASE("compute: an expanded tensor is not changed in place, since its elements share memory") {
  Tensor<float> a{1, 2, 3};
  auto wide = a.expand({2, 3});
  CHECK_THROWS_WITH_AS(wide += 1.0f, doctest::Contains("clone()"), shape_error);
  CHECK_THROWS_AS(wide.zero_(), shape_error);
  Tensor<int> n{1, 2, 3};
  auto more = n.expand({2, 3});
  CHECK_THROWS_AS(more += 1, shape_error);
  CHECK(a(0) == 1);
  CHECK(n(2) == 3);
  CHECK_NOTHROW(a.expand({1, 3}) += 1.0f);
  CHECK(a(2) == 4);
}

TEST_CASE("compute: a result of another shape is refused before anything is written") {
  Tensor<float> a{1, 2, 3};
  const Tensor<float> big{{1, 2, 3}, {4, 5, 6}}, wrong{1, 2};
  CHECK_THROWS_WITH_AS(a += big, doctest::Contains("[2, 3]"), shape_error);
  CHECK_THROWS_WITH_AS(a -= wrong, doctest::Contains("[3] and [2]"), shape_error);
  CHECK_THROWS_AS(a.copy_(big), shape_error);
  CHECK(test::difference(a, naive::of(Tensor<float>{1, 2, 3})) == "");
}

TEST_CASE("compute: a failed assignment leaves the tensor as it was, its wish for a gradient included") {
  Tensor<float> w{1, 2, 3};
  w.requires_grad();
  const Tensor<float> x{1, 2, 3}, wrong{1, 2};
  CHECK_THROWS_AS(w = x + wrong, shape_error);
  CHECK(w.needs_grad());
  CHECK(w(2) == 3);
  w = x + x;
  CHECK_FALSE(w.needs_grad());
}

TEST_CASE("compute: assignment reuses memory only if nobody else can see it") {
  Tensor<float> a{1, 2, 3};
  const float* const memory = a.data();
  const Tensor<float> x{1, 1, 1};
  a = x + x;
  CHECK(a.data() == memory);
  const Tensor<float> other = a;
  a = x + 3.0f;
  CHECK(a.data() != memory);
  CHECK(other(0) == 2);
  const auto view = a.slice(0, 1);
  a = x * 0.0f;
  CHECK(view(0) == 4);
  a = a + a;
  a = a.reshape({3, 1}) + a;
  CHECK(a.sizes() == dims{3, 3});
}

TEST_CASE("compute: values with gradients do not get lost in a part of a larger tensor") {
  Tensor<float> w{1, 2, 3}, room{{0, 0, 0}, {0, 0, 0}};
  w.requires_grad();
  CHECK_THROWS_WITH_AS(room.select(0, 1).copy_(w), doctest::Contains("stack"), graph_error);
  CHECK(room(1, 2) == 0);
  {
    const no_grad quiet;
    room.select(0, 1).copy_(w);
  }
  CHECK(room(1, 2) == 3);
  Tensor<float> part = room.select(0, 0);
  room = Tensor<float>{0};
  part += w;  // nobody else sees these elements
  backward(part, Tensor<float>{1, 1, 1});
  CHECK(w.grad()(2) == 1);
}

TEST_CASE("compute: in place and the graph") {
  Tensor<float> w{1, 2, 3}, v{4, 5, 6};
  w.requires_grad();
  v.requires_grad();
  CHECK_THROWS_WITH_AS(w += v, doctest::Contains("no_grad"), graph_error);
  w -= 0.5f;
  CHECK(w.needs_grad());
  Tensor<float> y = w * 2.0f;
  y *= v;  // recorded: dy/dw = 2 v, dy/dv = 2 w, which needs the overwritten y
  CHECK_THROWS_WITH_AS(backward(sum(y)), doctest::Contains("clone()"), graph_error);
  w.zero_grad();
  v.zero_grad();
  y = w * 2.0f;
  y += v * v;
  backward(sum(y));
  CHECK(w.grad()(1) == 2);
  CHECK(v.grad()(1) == 10);
}
