// SPDX-License-Identifier: BSL-1.0
// Products of tensors on the stand-in: layouts that cuBLASLt takes as they are, those that it does not, integers, and
// gradients over broadcast batches; against plain double loops.
#include <kiln/cuda.hpp>
#include <kiln/tensor/turned.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace kiln;

namespace {

// Small integers: every sum is exact in every type.
template <class T>
Tensor<T, Cuda> small(const dims& sizes, int seed) {
  Tensor<T> x = empty<T>(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data()[i] = static_cast<T>(static_cast<float>((i * 7 + seed) % 5 - 2));
  return x.template to<Cuda>();
}
template <class T>
double at(const Tensor<T>& x, const std::vector<std::int64_t>& index) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * x.strides()[static_cast<int>(d)];
  return static_cast<double>(static_cast<compute_t<T>>(x.data()[offset]));
}
template <class T>
void check_matrices(const Tensor<T, Cuda>& a, const Tensor<T, Cuda>& b) {
  const Tensor<T, Cuda> p = matmul(a, b);
  const Tensor<T> x = a.template to<Cpu>(), y = b.template to<Cpu>(), got = p.template to<Cpu>();
  int wrong = 0;
  for (std::int64_t i = 0; i < x.size(0); ++i)
    for (std::int64_t k = 0; k < y.size(1); ++k) {
      double sum = 0;
      for (std::int64_t j = 0; j < x.size(1); ++j) sum += at(x, {i, j}) * at(y, {j, k});
      wrong += at(got, {i, k}) != sum;
    }
  CHECK(got.sizes() == dims{x.size(0), y.size(1)});
  CHECK(wrong == 0);
}
template <class T>
void check_layouts() {
  const auto a = small<T>({6, 9}, 1), b = small<T>({9, 4}, 2);
  check_matrices(a, b);
  check_matrices(small<T>({9, 6}, 1).t(), small<T>({4, 9}, 3).t());
  // Neither axis without gaps: copied first.
  check_matrices(small<T>({6, 18}, 1).slice(1, 0, 18, 2), b);
  check_matrices(a, small<T>({9, 8}, 1).slice(1, 1, 8, 2));
  check_matrices(a.slice(1, 0, 1).expand({6, 9}), b);
  check_matrices(a.slice(1, 0, 0), b.slice(0, 0, 0));
}

}  // namespace

TEST_CASE("cuda products: floating and integer matrices in every layout") {
  emulate::stand_in();
  check_layouts<float>();
  check_layouts<std::int64_t>();
  check_matrices(small<bfloat16>({6, 9}, 1), small<bfloat16>({9, 4}, 2));
  check_matrices(small<std::int8_t>({6, 9}, 1), small<std::int8_t>({9, 4}, 2));
}

TEST_CASE("cuda products: vectors, and batches that broadcast, with their gradients") {
  emulate::stand_in();
  auto a = small<double>({2, 1, 3, 4}, 1), b = small<double>({5, 4, 2}, 2);
  CHECK(Tensor<double, Cuda>(matmul(small<double>({7}, 1), small<double>({7}, 1))).sizes() == dims{});
  a.requires_grad(), b.requires_grad();
  const Tensor<double, Cuda> p = matmul(a, b);
  CHECK(p.sizes() == dims{2, 5, 3, 2});
  backward(sum(p * p));
  const Tensor<double> x = a.to<Cpu>(), y = b.to<Cpu>(), got = p.to<Cpu>(), da = a.grad().to<Cpu>(),
                       db = b.grad().to<Cpu>();
  std::vector<double> want_a(24), want_b(40);
  int wrong = 0;
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t m = 0; m < 5; ++m)
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t k = 0; k < 2; ++k) {
          double sum = 0;
          for (std::int64_t j = 0; j < 4; ++j) sum += at(x, {n, 0, i, j}) * at(y, {m, j, k});
          wrong += at(got, {n, m, i, k}) != sum;
          for (std::int64_t j = 0; j < 4; ++j) {
            want_a[static_cast<std::size_t>((n * 3 + i) * 4 + j)] += 2 * sum * at(y, {m, j, k});
            want_b[static_cast<std::size_t>((m * 4 + j) * 2 + k)] += 2 * sum * at(x, {n, 0, i, j});
          }
        }
  CHECK(wrong == 0);
  CHECK(std::vector<double>(da.span().begin(), da.span().end()) == want_a);
  CHECK(std::vector<double>(db.span().begin(), db.span().end()) == want_b);
}

TEST_CASE("cuda products: a bias is added by the product itself, whatever else is added by a kernel after it") {
  const auto& device = emulate::stand_in();
  auto x = small<float>({6, 9}, 1), w = small<float>({9, 4}, 2), bias = small<float>({4}, 3);
  bias.requires_grad();
  const auto column = small<float>({6, 1}, 4), odd = small<float>({5}, 3).slice(0, 1, 5);
  const auto kernels_of = [&](auto make) {
    const Tensor<float, Cuda> first = make();
    cuda::synchronize({});
    device.reset();
    const Tensor<float, Cuda> y = make();
    const long long kernels = device.emulated() ? device.count("cuLaunchKernel") : 0;
    return std::pair(kernels, y.detach().to(Cpu{}));
  };
  const Tensor<float> plain = Tensor<float, Cuda>(matmul(x, w)).to<Cpu>();
  const auto differ = [&](const Tensor<float>& y, const Tensor<float>& added, bool rows) {
    int wrong = 0;
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t k = 0; k < 4; ++k) wrong += y(i, k) != plain(i, k) + added.data()[rows ? i : k];
    return wrong;
  };
  const auto fused = kernels_of([&] { return Tensor<float, Cuda>(matmul(x, w) + bias); });
  if (device.emulated()) CHECK(fused.first == 0);
  CHECK(differ(fused.second, bias.detach().to(Cpu{}), false) == 0);
  CHECK(kernels_of([&] { return Tensor<float, Cuda>(bias + matmul(x, w)); }).first == 0);
  const auto rows = kernels_of([&] { return Tensor<float, Cuda>(matmul(x, w) + column); });
  if (device.emulated()) CHECK(rows.first == 1);
  CHECK(differ(rows.second, column.to(Cpu{}), true) == 0);
  const auto unaligned = kernels_of([&] { return Tensor<float, Cuda>(matmul(x, w) + odd); });
  if (device.emulated()) CHECK(unaligned.first == 1);
  CHECK(differ(unaligned.second, odd.to(Cpu{}), false) == 0);
  backward(sum(matmul(x, w) + bias));
  const Tensor<float> gradient = bias.grad().to<Cpu>();
  CHECK(std::vector<float>(gradient.span().begin(), gradient.span().end()) == std::vector<float>{6, 6, 6, 6});
}

TEST_CASE("cuda products: the gradient of a bias comes with that of the weight, without a kernel of its own") {
  const auto& device = emulate::stand_in();
  // Sums of columns of (i, k) -> weights, counted by hand; one and two axes before the last, a weight as it is and
  // turned.
  const auto check = [&](const dims& batch, bool turned, bool lacking) {
    CAPTURE(batch);
    CAPTURE(turned);
    dims images = batch, results = batch;
    images.push_back(9), results.push_back(4);
    auto x = small<float>(images, 1), w = turned ? small<float>({4, 9}, 2) : small<float>({9, 4}, 2),
         bias = small<float>({4}, 3), g = small<float>(results, 5);
    x.requires_grad(), w.requires_grad(), bias.requires_grad();
    const auto pass = [&] {
      const Tensor<float, Cuda> y = matmul(x, turned ? kiln::detail::turned(w) : w) + bias;
      cuda::synchronize({});
      device.reset();
      if (lacking) device.set("fail_sums", 1);
      backward(y, g);
    };
    pass();
    if (device.emulated()) {
      CHECK(device.count("cublasLtMatmul") == 2);
      CHECK((device.count("cuLaunchKernel") > 0) == lacking);
    }
    const Tensor<float> G = g.to<Cpu>(), X = x.detach().to(Cpu{}), got_b = bias.grad().to<Cpu>(),
                        got_w = w.grad().to<Cpu>();
    std::vector<float> by_bias(4), by_w(36);
    for (std::int64_t i = 0; i < G.numel(); ++i) {
      by_bias[static_cast<std::size_t>(i % 4)] += G.data()[i];
      for (std::int64_t j = 0; j < 9; ++j)
        by_w[static_cast<std::size_t>(turned ? i % 4 * 9 + j : j * 4 + i % 4)] += G.data()[i] * X.data()[i / 4 * 9 + j];
    }
    CHECK(std::vector<float>(got_b.span().begin(), got_b.span().end()) == by_bias);
    CHECK(std::vector<float>(got_w.span().begin(), got_w.span().end()) == by_w);
    // A second pass adds: a kernel does that for the bias.
    device.reset();
    pass();
    const Tensor<float> twice = bias.grad().to<Cpu>();
    for (std::size_t k = 0; k < 4; ++k) CHECK(twice.data()[k] == 2 * by_bias[k]);
  };
  for (const bool turned : {false, true}) {
    check({6}, turned, false);
    check({2, 3}, turned, false);
  }
  if (device.emulated()) check({7}, true, true);  // a library that has no kernel for it
}

TEST_CASE("cuda products: what arrives for a product that stands several times in an expression is added up") {
  emulate::stand_in();
  auto a = small<float>({6, 9}, 1), b = small<float>({9, 4}, 2);
  a.requires_grad();
  b.requires_grad();
  const auto z = matmul(a, b);
  sum(z + z * z).backward();
  // The gradient of each element of z is 1 + 2 z; all numbers are small integers.
  const Tensor<float> x = a.to<Cpu>(), y = b.to<Cpu>(), got = a.grad().to<Cpu>();
  int wrong = 0;
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 9; ++j) {
      double want = 0;
      for (std::int64_t k = 0; k < 4; ++k) {
        double sum = 0;
        for (std::int64_t l = 0; l < 9; ++l) sum += at(x, {i, l}) * at(y, {l, k});
        want += (1 + 2 * sum) * at(y, {j, k});
      }
      wrong += at(got, {i, j}) != want;
    }
  CHECK(wrong == 0);
}
