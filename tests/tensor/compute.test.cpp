// SPDX-License-Identifier: BSL-1.0
// Assigning and changing in place: who sees the new values, what aliases, what is refused and what that leaves behind.
#include <doctest/doctest.h>

#include <kiln/autograd/backward.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/compute.hpp>
#include <kiln/tensor/creation.hpp>
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
  Tensor<float> w{1, 2, 3}, whole{{0, 0, 0}, {0, 0, 0}};
  w.requires_grad();
  whole.select(0, 1).copy_(w);
  CHECK(whole(1, 2) == 3);
  backward(sum(whole * Tensor<float>{{1, 2, 3}, {4, 5, 6}}));
  CHECK(w.grad()(2) == 6);
  w.zero_grad();
  whole = whole.detach();
  Tensor<float> part = whole.select(0, 0);
  whole = Tensor<float>{0};
  part += w;
  backward(part, Tensor<float>{1, 1, 1});
  CHECK(w.grad()(2) == 1);
}

TEST_CASE("compute: copy_ broadcasts an expression, and gradients pass by what it overwrote") {
  Tensor<float> a{{0, 0, 0}, {0, 0, 0}};
  const Tensor<float> row{1, 2, 3};
  a.copy_(row * 2.0f + 1.0f);
  for (int i = 0; i < 6; ++i) CHECK(a(i / 3, i % 3) == static_cast<float>(2 * (i % 3) + 3));
  Tensor<float> w{{1, 2, 3}, {4, 5, 6}}, v{7, 8, 9};
  w.requires_grad();
  v.requires_grad();
  Tensor<float> y = w * 2.0f;
  y.select(0, 1).copy_(v * v);
  backward(sum(y));
  for (int i = 0; i < 3; ++i) {
    CHECK(w.grad()(0, i) == 2);
    CHECK(w.grad()(1, i) == 0);
    CHECK(v.grad()(i) == 2 * v(i));
  }
  w.zero_grad();
  v.zero_grad();
  y = w * 2.0f;
  y.copy_(v * v);  // for both rows
  backward(sum(y));
  for (int i = 0; i < 3; ++i) {
    if (w.has_grad()) CHECK(w.grad()(0, i) == 0);
    CHECK(v.grad()(i) == 4 * v(i));
  }
  w.zero_grad();
  y = w * 2.0f;
  y.select(0, 0).copy_(row * 3.0f);  // which needs no gradient
  backward(sum(y));
  CHECK(w.grad()(0, 1) == 0);
  CHECK(w.grad()(1, 1) == 2);
}

TEST_CASE("compute: a copy of another shape is refused by the shapes of what is copied and where to") {
  Tensor<float> x = zeros<float>({2, 3});
  const char* const says =
      "in place: values of shape [3, 2] do not broadcast to [2, 3], the shape of the elements they go to: reshape or "
      "select them first";
  CHECK_THROWS_WITH_AS(x.copy_(x.t()), says, shape_error);
  CHECK_THROWS_WITH_AS(x.copy_(x.t() * 2.0f), says, shape_error);
  CHECK_THROWS_AS(x[0] = x, shape_error);
  CHECK_NOTHROW(x[0] = 1.0f);
  CHECK_NOTHROW(x = x * Tensor<float>{1, 2, 3});
  CHECK_NOTHROW(x[{slice(), 0}] = Tensor<float>{1, 2});
}

TEST_CASE("compute: in place and the graph") {
  Tensor<float> w{1, 2, 3}, v{4, 5, 6};
  w.requires_grad();
  v.requires_grad();
  CHECK_THROWS_WITH_AS(w += v, doctest::Contains("no_grad"), graph_error);
  w -= 0.5f;
  CHECK(w.needs_grad());
  Tensor<float> y = w * 2.0f;
  const Tensor<float> of_before = y * v;
  y *= v;  // recorded: dy/dw = 2 v, dy/dv = 2 w, which needs the overwritten y: it keeps a copy, of_before none
  CHECK_THROWS_WITH_AS(backward(sum(of_before)), doctest::Contains("clone()"), graph_error);
  backward(sum(y));
  CHECK((w.grad()(0) == 8 && w.grad()(2) == 12 && v.grad()(0) == 1 && v.grad()(2) == 5));
  w.zero_grad();
  v.zero_grad();
  y = w * 2.0f;
  y += v * v;
  backward(sum(y));
  CHECK(w.grad()(1) == 2);
  CHECK(v.grad()(1) == 10);
}

TEST_CASE("compute: assignment gives a tensor of foreign memory its own, in-place writes go there") {
  const float before[] = {1, 2, 3};
  float memory[] = {1, 2, 3};
  const Tensor<float> x{5, 6, 7};
  {
    // A read-only mapping would end the program.
    Tensor<float> t = from_blob(const_cast<float*>(before), {3});
    t = x + 1.0f;
    CHECK(t(2) == 8);
  }
  CHECK(before[2] == 3);
  Tensor<float> t = from_blob(memory, {3});
  t += x;
  CHECK(memory[2] == 10);
  t = x * x;
  CHECK(memory[2] == 10);
}

TEST_CASE("compute: blobs that overlap are read before they are written") {
  float memory[] = {1, 2, 3, 4, 5};
  Tensor<float> low = from_blob(memory, {4}), high = from_blob(memory + 1, {4});
  high += low;
  const float expected[] = {1, 3, 5, 7, 9};
  for (int i = 0; i < 5; ++i) CHECK(memory[i] == expected[i]);
  // Backwards through memory.
  Tensor<float> turned = from_blob(memory + 4, {5}, {-1}), all = from_blob(memory, {5});
  all.copy_(turned * 1.0f);
  for (int i = 0; i < 5; ++i) CHECK(memory[i] == expected[4 - i]);
  // A result whose memory would be used again, were there no blob of it.
  Tensor<float> own{1, 2, 3, 4};
  float* const at = own.data();
  const Tensor<float> reversed = from_blob(at + 3, {4}, {-1});
  own = reversed + 1.0f;
  for (int i = 0; i < 4; ++i) CHECK(own(i) == static_cast<float>(5 - i));
}

TEST_CASE("compute: an in-place write with an operand or mask without elements changes nothing") {
  Tensor<float> a{1, 2, 3, 4, 5}, rows = a.reshape({5, 1});
  const Tensor<float> none(new_tensor(dtype::float32, {0})), wide(new_tensor(dtype::float32, {0, 5})),
      flat(new_tensor(dtype::float32, {1, 0}));
  const Tensor<bool> mask(new_tensor(dtype::boolean, {0}));
  CHECK_THROWS_AS(a += none, shape_error);
  CHECK_THROWS_AS(a.copy_(none), shape_error);
  CHECK_THROWS_AS(a.copy_(wide), shape_error);
  CHECK_THROWS_AS(a *= wide, shape_error);
  CHECK_THROWS_AS(rows += flat, shape_error);
  CHECK_THROWS_AS(rows.copy_(flat), shape_error);
  CHECK_THROWS_AS(a.slice(0, 0, 1) += none, shape_error);
  CHECK_THROWS_AS(a.copy_(where(mask, a, 7.0f)), shape_error);
  CHECK_THROWS_AS(rows.copy_(where(mask, rows, 7.0f)), shape_error);
  Tensor<float> one{1};
  CHECK_THROWS_AS(one.copy_(where(mask, one, 7.0f)), shape_error);
  CHECK_THROWS_AS(one += none, shape_error);
  CHECK(one(0) == 1);
  a.slice(0, 2, 2) += 9.0f;  // writes nothing
  a.slice(0, 2, 2).copy_(none);
  for (int i = 0; i < 5; ++i) CHECK(a(i) == static_cast<float>(i + 1));
}

TEST_CASE("compute: assigning to what has no name writes in place, to a name binds it anew") {
  Tensor<float> x(new_tensor(dtype::float32, {2, 3}));
  x.zero_();
  const Tensor<float> y{1, 2, 3};
  x[0] = y;
  x[1][2] = 5.0f;
  x[1] += y * 10.0f;
  x.select(1, 0) = y.slice(0, 0, 2) - 1.0f;
  const float expected[2][3] = {{0, 2, 3}, {1, 20, 35}};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(x(i, j) == expected[i][j]);
  x[{slice(), slice(0, 2)}] = x[{slice(), slice(1)}];  // overlaps
  CHECK(x(0, 0) == 2);
  CHECK(x(1, 1) == 35);
  x[{-1, slice(0, 3, 2)}] = 7;
  CHECK(x(1, 0) == 7);
  CHECK(x(1, 2) == 7);
  x[0] = x[1] = 4.0f;
  CHECK(x(0, 1) == 4);
  Tensor<float> row = x[0], other = y;
  other = x[1];
  other = other * 2.0f;
  CHECK(x(1, 0) == 4);
  row += 1.0f;
  CHECK(x(0, 0) == 5);
  CHECK_THROWS_WITH_AS(x[2] = 1.0f, doctest::Contains("index 2 is outside [-2, 1]"), index_error);
  const auto three = [&] { return x[{0, 0, 0}]; };
  CHECK_THROWS_WITH_AS(three(), doctest::Contains("one per axis at most"), index_error);
  CHECK_THROWS_AS((x[0] = Tensor<float>{1, 2}), shape_error);
}

TEST_CASE("compute: gradients of elements assigned by index") {
  Tensor<float> w{1, 2, 3}, x(new_tensor(dtype::float32, {3, 3}));
  w.requires_grad();
  x.zero_();
  x[0] = w * 2.0f;
  x[1] += x[0] * 3.0f;
  x[{slice(), 0}] = 1.0f;  // what stood there gets no gradient any more
  x[2][1] = w.select(0, 0);
  backward(sum(x));
  CHECK(w.grad()(0) == 1);
  CHECK(w.grad()(1) == 8);
  CHECK(w.grad()(2) == 8);
}
