// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <cmath>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/tensor/creation.hpp>
#include <vector>

using namespace kiln::dynamic;
using kiln::dtype;

namespace {
tensor made(const kiln::dims& sizes, std::vector<float> values) {
  auto state = kiln::new_tensor(dtype::float32, sizes);
  std::copy(values.begin(), values.end(), static_cast<float*>(state->data));
  return tensor::of(std::move(state));
}
std::vector<float> values(const tensor& x) {
  REQUIRE(x.type() == dtype::float32);
  std::vector<float> all(static_cast<std::size_t>(x.numel()));
  x.to_host(all.data());
  return all;
}
bool near(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-5f * (1 + std::abs(b[i])))) return false;
  return true;
}
}  // namespace

TEST_CASE("calls stay pending, and a chain of them runs as one tape") {
  const tensor x = made({3}, {1, 2, 3}), y = made({3}, {4, 5, 6});
  reset_statistics();
  tensor z = call("mul", {call("add", {x, y}), scalar(2.0)});
  z = call("sub", {z, call("square", {x})});
  CHECK(z.is_lazy());
  CHECK(z.sizes() == kiln::dims{3});
  CHECK(near(values(z), {9, 10, 9}));
  CHECK(!z.is_lazy());
  CHECK(statistics().evaluations == 1);
}

TEST_CASE("rows") {
  const tensor x = made({2, 3}, {1, 2, 3, 4, 6, 8});
  reset_statistics();
  const tensor m = reduce("mean", x, {-1}, true);
  const tensor d = call("sub", {x, m});
  CHECK(near(values(d), {-1, 0, 1, -2, 0, 2}));
  CHECK(statistics().evaluations == 1);
  CHECK(near(values(reduce("sum", call("mul", {d, d}), {1})), {2, 8}));
  CHECK(near(values(softmax(made({1, 2}, {0, std::log(3.f)}))), {0.25f, 0.75f}));
}

TEST_CASE("gradients") {
  tensor x = made({3}, {1, 2, 3});
  x.requires_grad_();
  const tensor y = call("mul", {x, x});
  const tensor z = reduce("mean", y);
  z.backward();
  CHECK(near(values(x.grad()), {2.f / 3, 4.f / 3, 2}));
  CHECK(y.requires_grad());
  CHECK(near(values(y), {1, 4, 9}));
}
