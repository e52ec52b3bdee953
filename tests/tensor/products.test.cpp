// SPDX-License-Identifier: BSL-1.0
// matmul, dot and outer: NumPy's rules, any layout, whatever is done to the product, and what does not fit.
#include <doctest/doctest.h>

#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/products.hpp>
#include <support/compare.hpp>
#include <support/draw.hpp>

using namespace kiln;
using doctest::Contains;
using test::difference;
using test::draw;
using test::lengths;
using test::naive;

TEST_CASE("products: random ranks, broadcast batches and layouts") {
  for (std::uint32_t seed = 1; seed <= 250; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const auto size = [&d] { return d.chance(25) ? 0 : d.chance(3) ? d.integer(1, 40) : d.integer(1, 5); };
    const std::int64_t k = size();
    lengths a{size(), k}, b{k, size()}, batch;
    for (auto i = d.integer(0, 3); i > 0; --i) batch.push_back(d.integer(0, 12) == 0 ? 0 : d.integer(1, 3));
    const lengths batch_a = d.narrower(batch), batch_b = d.narrower(batch);
    a.insert(a.begin(), batch_a.begin(), batch_a.end());
    b.insert(b.begin(), batch_b.begin(), batch_b.end());
    if (d.chance(6)) a = {k};
    if (d.chance(6)) b = {k};
    const auto x = d.tensor<float>(a), y = d.tensor<float>(b);
    CAPTURE(x.sizes());
    CAPTURE(x.strides());
    CAPTURE(y.sizes());
    CAPTURE(y.strides());
    const naive want = test::matmul(naive::of(x), naive::of(y));
    CHECK(difference(Tensor<float>(matmul(x, y)), want, 2e-6, 2e-5) == "");
    const auto z = d.tensor<float>(d.narrower(want.shape));
    CHECK(difference(Tensor<float>(maximum(matmul(x, y) + z, 0.0f)),
                     test::map([](double p, double q) { return std::max(p + q, 0.0); }, want, naive::of(z)), 2e-6,
                     2e-5) == "");
  }
}

TEST_CASE("products: what surrounds a product is applied to its blocks, large and small") {
  for (int threads : {1, 2}) {
    cpu::set_num_threads(threads);
    for (const auto& shape : {std::array<std::int64_t, 3>{64, 30, 200},
                              {200, 3, 90},
                              {1, 10, 20000},
                              {20000, 10, 1},
                              {300, 0, 300},
                              {130, 260, 140}}) {
      const std::int64_t m = shape[0], k = shape[1], n = shape[2];
      CAPTURE(m);
      CAPTURE(n);
      draw d(static_cast<std::uint32_t>(m + n));
      const auto a = d.tensor<float>({m, k}), b = d.tensor<float>({k, n}), bias = d.contiguous<float>({n}),
                 column = d.contiguous<float>({m, 1}), full = d.contiguous<float>({m, n}),
                 turned = d.contiguous<float>({n, m});
      const naive p = test::matmul(naive::of(a), naive::of(b));
      const auto plus = [](double x, double y) { return x + y; };
      const auto close = [](const Tensor<float>& got, const naive& want) { return difference(got, want, 1e-5, 1e-4); };
      CHECK(close(tanh(matmul(a, b) + bias),
                  test::map([](double x, double y) { return std::tanh(x + y); }, p, naive::of(bias))) == "");
      CHECK(close(full * (matmul(a, b) + column), test::map([](double x, double y, double z) { return z * (x + y); }, p,
                                                            naive::of(column), naive::of(full))) == "");
      CHECK(close(matmul(a, b) + turned.transpose(0, 1), test::map(plus, p, naive::of(turned.transpose(0, 1)))) == "");
      CHECK(close(matmul(a, b) + matmul(a, b + b), test::map([](double x) { return 3 * x; }, p)) == "");
      CHECK(close(matmul(a, b) * matmul(a, b), test::map([](double x) { return x * x; }, p)) == "");
      CHECK(close(matmul(a, b) + Tensor<float>(new_tensor(dtype::float32, {0, m, n})), naive({0, m, n})) == "");
      CHECK(close(softmax(matmul(a, b), -1), test::along(
                                                 [](std::vector<double> v) {
                                                   double s = 0;
                                                   for (double& x : v) s += x = std::exp(x);
                                                   for (double& x : v) x /= s;
                                                   return v;
                                                 },
                                                 p, 2)) == "");
      const Tensor<double> wide = cast<double>(matmul(a, b)) + 1.0;
      CHECK(difference(wide, test::map([](double x) { return x + 1; }, p), 1e-5, 1e-4) == "");
      const Tensor<float> batched = matmul(a.unsqueeze(0).expand({3, m, k}), b) + bias;
      CHECK(close(batched.select(0, 2), test::map(plus, p, naive::of(bias))) == "");
    }
  }
}

TEST_CASE("products: into a tensor that is an operand, and in place") {
  draw d(4);
  auto a = d.contiguous<float>({120, 120});
  const naive p = test::matmul(naive::of(a), naive::of(a)), before = naive::of(a);
  Tensor<float> b = a.clone();
  b += matmul(a, a);
  CHECK(difference(b, test::map([](double x, double y) { return x + y; }, p, before), 1e-5, 1e-4) == "");
  b = a.clone();
  b += matmul(b, b) * 2.0f;
  CHECK(difference(b, test::map([](double x, double y) { return 2 * x + y; }, p, before), 1e-5, 1e-4) == "");
  a = matmul(a, a) - a;
  CHECK(difference(a, test::map([](double x, double y) { return x - y; }, p, before), 1e-5, 1e-4) == "");
}

TEST_CASE("products: other types") {
  draw d(6);
  const auto i = d.tensor<std::int32_t>({30, 20}), j = d.tensor<std::int32_t>({20, 25});
  CHECK(difference(Tensor<std::int32_t>(matmul(i, j) - 1),
                   test::map([](double x) { return x - 1; }, test::matmul(naive::of(i), naive::of(j)))) == "");
  const auto h = d.tensor<half>({40, 30}), g = d.tensor<half>({30, 50});
  const naive want = test::matmul(naive::of(h), naive::of(g));
  CHECK(difference(Tensor<half>(matmul(h, g)), want, 1e-3, 1e-3) == "");
  CHECK(difference(Tensor<half>(matmul(h, g) * 0.5f), test::map([](double x) { return x / 2; }, want), 2e-3, 2e-3) ==
        "");
  const auto k = d.tensor<bfloat16>({3, 30}), l = d.tensor<bfloat16>({30});
  CHECK(difference(Tensor<bfloat16>(matmul(k, l)), test::matmul(naive::of(k), naive::of(l)), 1e-2, 1e-2) == "");
  const auto x = d.tensor<double>({70, 80}), y = d.tensor<double>({80, 90});
  CHECK(difference(Tensor<double>(matmul(x, y) + 1.0),
                   test::map([](double v) { return v + 1; }, test::matmul(naive::of(x), naive::of(y))), 1e-13,
                   1e-12) == "");
}

TEST_CASE("products: dot and outer") {
  const Tensor<float> a{1, 2, 3}, b{4, 5, 6};
  CHECK(Tensor<float>(dot(a, b)).item() == 32);
  CHECK(Tensor<float>(dot(a * 2.0f, b) + 1.0f).item() == 65);
  CHECK(difference(Tensor<float>(outer(a, b + 1.0f)),
                   naive::of(Tensor<float>{{5, 6, 7}, {10, 12, 14}, {15, 18, 21}})) == "");
  const Tensor<float> none(new_tensor(dtype::float32, {0}));
  CHECK(Tensor<float>(dot(none, none)).item() == 0);
}

TEST_CASE("products: what does not fit is refused with both shapes") {
  const Tensor<float> a(new_tensor(dtype::float32, {2, 3})), b(new_tensor(dtype::float32, {4, 5})), v{1, 2},
      number(1.0f);
  const Tensor<float> stack(new_tensor(dtype::float32, {4, 3, 2})), other(new_tensor(dtype::float32, {5, 2, 3}));
  CHECK_THROWS_WITH_AS(Tensor<float>(matmul(a, b)), Contains("[2, 3] and [4, 5]"), shape_error);
  CHECK_THROWS_WITH_AS(Tensor<float>(matmul(a, b) + 1.0f), Contains("must equal"), shape_error);
  CHECK_THROWS_WITH_AS(Tensor<float>(matmul(a, v)), Contains("[2, 3] and [2]"), shape_error);
  CHECK_THROWS_WITH_AS(Tensor<float>(matmul(number, a)), Contains("0-d"), shape_error);
  CHECK_THROWS_WITH_AS(Tensor<float>(matmul(stack, other)), Contains("[4] and [5]"), shape_error);
  CHECK_THROWS_WITH_AS(Tensor<float>(matmul(a, a.transpose(0, 1)) + b), Contains("[4, 5]"), shape_error);
  CHECK_THROWS_AS(dot(a, a), shape_error);
  CHECK_THROWS_AS(dot(v, Tensor<float>{1, 2, 3}), shape_error);
  CHECK_THROWS_AS(outer(a, v), shape_error);
}

namespace {
int multiplications = 0;
void count_and_multiply(const tensor_state& a, const tensor_state& b, tensor_state& out,
                        detail::epilogue_function done) {
  ++multiplications;
  detail::multiply_tensors<float, Cpu>(a, b, out, done);
}
template <class E>
Tensor<float> counted(const E& e) {
  multiplications = 0;
  detail::collected<E> c(e);
  for (auto& multiply : c.multiply) multiply = &count_and_multiply;
  detail::operand_workspace<E> in;
  ref<tensor_state> made;
  detail::compute_planned(detail::facts_of<E>, nullptr, c.view(), {.domain = shape_of(e)}, shape_of(e), made, false,
                          in.data());
  return Tensor<float>(made);
}
}  // namespace

TEST_CASE("products: one that stands several times in an expression is computed once") {
  draw d(7);
  const auto m = d.contiguous<float>({9, 9}), other = d.contiguous<float>({9, 9});
  const auto h = matmul(m, m);
  const auto twice = [](const naive& p) { return test::map([](double v) { return v / (1 + std::exp(-v)) + v; }, p); };
  CHECK(difference(counted(sigmoid(h) * h + h), twice(test::matmul(naive::of(m), naive::of(m))), 2e-6, 2e-5) == "");
  CHECK(multiplications == 1);
  const Tensor<float> same_elements = m.view({9, 9});
  CHECK(counted(matmul(m, m) + matmul(same_elements, m)).sizes() == dims{9, 9});
  CHECK(multiplications == 1);
  const naive sum_of_two = test::map([](double p, double q) { return p + q; }, test::matmul(naive::of(m), naive::of(m)),
                                     test::matmul(naive::of(m), naive::of(transpose(m))));
  CHECK(difference(counted(matmul(m, m) + matmul(m, transpose(m))), sum_of_two, 2e-6, 2e-5) == "");
  CHECK(multiplications == 2);
  counted(matmul(m, other) + matmul(other, m));
  CHECK(multiplications == 2);
}

TEST_CASE("products: the gradient of one that stands several times counts each of its places") {
  draw d(8);
  const auto a = d.contiguous<double>({3, 4}), b = d.contiguous<double>({4, 5});
  const auto f = [](auto x, auto y) {
    auto h = matmul(x, y);
    return Tensor<double>(tanh(h) * h + h);
  };
  CHECK(test::gradient_difference(f, a, b) == "");
}
