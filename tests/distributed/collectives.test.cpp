// SPDX-License-Identifier: BSL-1.0
// Collectives on tensors: what arrives, in closed form, for every type and reduction; and what they refuse.
#include <kiln/distributed/collectives.hpp>

#include <kiln/kiln.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

using namespace kiln;
using distributed::reduce_op;

namespace {

int ranks() {
  return distributed::world_size();
}

// Elements (rank + 1) * (i % 3 + 1): small enough for all types.
template <class T>
Tensor<T> mine(std::int64_t n) {
  Tensor<T> x = empty<T>({n});
  for (std::int64_t i = 0; i < n; ++i) x.data()[i] = T(static_cast<float>((distributed::rank() + 1) * (i % 3 + 1)));
  return x;
}
template <class T>
bool all_are(const Tensor<T>& x, auto expected) {
  for (std::int64_t i = 0; i < x.numel(); ++i)
    if (static_cast<double>(x.data()[i]) != expected(static_cast<double>(i % 3 + 1))) return false;
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE("sum, mean, min, max and product of all ranks", T, float, double) {
  const double n = ranks();
  for (const std::int64_t size : {1, 7, 100'000}) {
    Tensor<T> x = mine<T>(size);
    distributed::all_reduce(x);
    CHECK(all_are(x, [&](double v) { return v * n * (n + 1) / 2; }));
    distributed::all_reduce(x = mine<T>(size), reduce_op::mean);
    CHECK(all_are(x, [&](double v) { return v * (n + 1) / 2; }));
    distributed::all_reduce(x = mine<T>(size), reduce_op::min);
    CHECK(all_are(x, [&](double v) { return v; }));
    distributed::all_reduce(x = mine<T>(size), reduce_op::max);
    CHECK(all_are(x, [&](double v) { return v * n; }));
    distributed::all_reduce(x = mine<T>(size), reduce_op::product);
    CHECK(all_are(x, [&](double v) { return std::pow(v, n) * std::tgamma(n + 1); }));
  }
}

TEST_CASE_TEMPLATE("sums of integers", T, std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t) {
  const double n = ranks();
  Tensor<T> x = mine<T>(10);
  distributed::all_reduce(x);
  CHECK(all_are(x, [&](double v) { return v * n * (n + 1) / 2; }));
}

TEST_CASE_TEMPLATE("sums and means of halves", T, half, bfloat16) {
  const double n = ranks();
  Tensor<T> x = mine<T>(10);
  distributed::all_reduce(x);
  CHECK(all_are(x, [&](double v) { return v * n * (n + 1) / 2; }));
  distributed::all_reduce(x = mine<T>(10), reduce_op::mean);
  CHECK(all_are(x, [&](double v) { return v * (n + 1) / 2; }));
  CHECK_THROWS_WITH_AS(distributed::all_reduce(x, reduce_op::max), doctest::Contains("MPI knows none"), value_error);
}

TEST_CASE("of truth values, a sum is any and a product all") {
  Tensor<bool> x{distributed::rank() == 0, true, false};
  Tensor<bool> y = x.clone();
  distributed::all_reduce(x);
  distributed::all_reduce(y, reduce_op::product);
  CHECK((x.data()[0] && x.data()[1] && !x.data()[2]));
  CHECK((y.data()[0] == (ranks() == 1) && y.data()[1] && !y.data()[2]));
}

TEST_CASE("every rank can be the one whose elements all get") {
  for (int root = 0; root < ranks(); ++root) {
    Tensor<float> x = mine<float>(1000);
    distributed::broadcast(x, root);
    CHECK(all_are(x, [&](double v) { return v * (root + 1); }));
  }
  CHECK_THROWS_WITH_AS(distributed::broadcast(mine<float>(2), ranks()), doctest::Contains("there is no rank"),
                       value_error);
}

TEST_CASE("the tensors of all ranks, one behind the other") {
  const Tensor<float> all = distributed::all_gather(mine<float>(3));
  REQUIRE(all.sizes() == dims{ranks(), 3});
  for (int r = 0; r < ranks(); ++r)
    for (int i = 0; i < 3; ++i) CHECK(all.data()[3 * r + i] == static_cast<float>((r + 1) * (i + 1)));
}

TEST_CASE("numbers need no tensor, and tensors may be empty") {
  CHECK(distributed::all_reduce(distributed::rank()) == ranks() * (ranks() - 1) / 2);
  CHECK(distributed::all_reduce(0.5f, reduce_op::mean) == 0.5f);
  Tensor<float> none = empty<float>({0, 3});
  distributed::all_reduce(none);
  distributed::broadcast(none);
  CHECK(distributed::all_gather(none).sizes() == dims{ranks(), 0, 3});
}

TEST_CASE("expressions and saved values know of what a collective writes") {
  Tensor<float> x{1, 2}, w{1, 1};
  w.requires_grad();
  const Tensor<float> loss = sum(w * x);
  distributed::all_reduce(x);
  CHECK_THROWS_AS(backward(loss), graph_error);  // its backward pass wants the x of before
}

TEST_CASE("what cannot be reduced is refused before anything is sent") {
  Tensor<float> x = ones<float>({4, 4});
  CHECK_THROWS_WITH_AS(distributed::all_reduce(transpose(x)), doctest::Contains("contiguous() copy"), value_error);
  Tensor<int> whole{1, 2};
  CHECK_THROWS_WITH_AS(distributed::all_reduce(whole, reduce_op::mean), doctest::Contains("mean of int32"),
                       value_error);
  CHECK_THROWS_WITH_AS(distributed::all_reduce(1, reduce_op::mean), doctest::Contains("mean of int64"), value_error);
  x.requires_grad();
  CHECK_THROWS_WITH_AS(distributed::all_reduce(x), doctest::Contains("no gradient flows between processes"),
                       graph_error);
  const no_grad quiet;
  distributed::all_reduce(x);
  CHECK(x.data()[5] == static_cast<float>(ranks()));
}
