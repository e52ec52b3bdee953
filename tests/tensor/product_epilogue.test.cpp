// SPDX-License-Identifier: BSL-1.0
// Products with a bias and an activation on the stand-in: one call of cuBLASLt and no kernel where it has what is
// written, a kernel after the product elsewhere; values and gradients against plain double loops.
#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/views.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

using namespace kiln;

namespace {

template <class T>
using on_device = Tensor<T, Cuda>;
using numbers = std::vector<double>;

// Small integers: every sum of products is exact in every type.
template <class T>
on_device<T> small(const dims& sizes, int seed) {
  Tensor<T> x = empty<T>(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data()[i] = static_cast<T>(static_cast<float>((i * 7 + seed) % 5 - 2));
  return x.template to<Cuda>();
}
template <class T>
numbers on_host(const on_device<T>& x) {
  const Tensor<T> here = x.detach().template to<Cpu>().clone();
  numbers values;
  for (const T v : here.span()) values.push_back(static_cast<double>(static_cast<compute_t<T>>(v)));
  return values;
}
// a b + bias, of a stack of matrices by one matrix.
template <class T>
numbers affine(const on_device<T>& a, const on_device<T>& b, const numbers& bias) {
  const numbers x = on_host(a), y = on_host(b);
  const std::size_t depth = static_cast<std::size_t>(b.size(0)), columns = static_cast<std::size_t>(b.size(1));
  numbers sums;
  for (std::size_t i = 0; i < x.size() / depth; ++i)
    for (std::size_t k = 0; k < columns; ++k) {
      double sum = bias.empty() ? 0 : bias[k];
      for (std::size_t j = 0; j < depth; ++j) sum += x[i * depth + j] * y[j * columns + k];
      sums.push_back(sum);
    }
  return sums;
}
double relu_of(double x) {
  return x < 0 ? 0 : x;
}
double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}
double itself(double x) {
  return x;
}

double distance(const numbers& got, numbers wanted, double (*op)(double)) {
  if (got.size() != wanted.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double w = op(wanted[i]), d = std::abs(got[i] - w) / std::max(1.0, std::abs(w));
    worst = d <= worst ? worst : (std::isnan(d) ? INFINITY : d);
  }
  return worst;
}

/// The stand-in, and checks on it.
template <class T>
struct trial {
  const emulate::stand_in_library& device = emulate::stand_in();

  /// What `make` gives takes one call of cuBLASLt, and after it a kernel or none.
  void operator()(const std::function<on_device<T>()>& make, const numbers& sums, double (*op)(double), bool fused,
                  double tolerance = 1e-6) const {
    { const on_device<T> warm = make(); }
    cuda::synchronize({});
    device.reset();
    const on_device<T> y = make();
    if (device.emulated()) {
      CHECK(device.count("cublasLtMatmul") == 1);
      CHECK(device.count("cuLaunchKernel") == (fused ? 0 : 1));
    }
    CHECK(distance(on_host(y), sums, op) <= tolerance);
  }
};

}  // namespace

TEST_CASE("product epilogue: what of an expression is one product can be read off its type") {
  using detail::product_chain;
  const on_device<float> x, w, b;
  const auto chain = [](auto e) { return product_chain<decltype(e)>{}; };
  CHECK(decltype(chain(matmul(x, w)))::bias == -1);
  CHECK(std::is_void_v<decltype(chain(matmul(x, w) + b))::op>);
  CHECK(decltype(chain(matmul(x, w) + b))::bias == 1);
  CHECK(decltype(chain(b + matmul(x, w)))::bias == 0);
  CHECK(decltype(chain(tanh(b + matmul(x, w))))::bias == 0);
  CHECK(std::is_same_v<decltype(chain(tanh(b + matmul(x, w))))::op, tanh_op>);
  CHECK_FALSE(decltype(chain(relu(tanh(matmul(x, w)))))::matches);
  CHECK_FALSE(decltype(chain(matmul(x, w) * b))::matches);
  CHECK_FALSE(decltype(chain(matmul(x, w) + 1.0f))::matches);
  CHECK_FALSE(decltype(chain(matmul(x, w) + b + b))::matches);
  CHECK_FALSE(decltype(chain(relu(x)))::matches);
  const auto fused = [](auto e) { return detail::is_fused_product<decltype(e)>(); };
  CHECK_FALSE(fused(matmul(x, w)));
  CHECK(fused(relu(matmul(x, w))));
  CHECK_FALSE(fused(gelu(matmul(x, w))));  // cuBLASLt's is the approximation
  CHECK_FALSE(fused(relu(matmul(Tensor<float>(), Tensor<float>()))));
}

TEST_CASE("product epilogue: a NaN stays a NaN or becomes 0, as the library has it, and harms no other element") {
  emulate::stand_in();
  const auto x = small<float>({6, 9}, 1), w = small<float>({9, 4}, 2);
  numbers values = on_host(x);
  values[9 * 2 + 5] = std::nan("");
  const Tensor<float> broken = empty<float>({6, 9});
  for (std::size_t i = 0; i < values.size(); ++i) broken.data()[i] = static_cast<float>(values[i]);
  on_device<float> there = broken.to<Cuda>();
  there.requires_grad();
  const on_device<float> y = relu(matmul(there, w));
  backward(sum(y));
  const numbers got = on_host(y), gradient = on_host(there.grad()), sums = affine(x, w, {}), weights = on_host(w);
  const double first = got[8];
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (i / 4 == 2)
      CHECK((std::isnan(got[i]) ? std::isnan(first) : got[i] == 0 && first == 0));
    else
      CHECK(got[i] == doctest::Approx(relu_of(sums[i])).epsilon(1e-6));
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (i / 9 == 2) continue;
    double wanted = 0;
    for (std::size_t k = 0; k < 4; ++k) wanted += sums[i / 9 * 4 + k] > 0 ? weights[i % 9 * 4 + k] : 0;
    CHECK(gradient[i] == doctest::Approx(wanted).epsilon(1e-5));
  }
}

TEST_CASE("product epilogue: relu and the approximated gelu are the product's own, with a bias and without") {
  const trial<float> check;
  const trial<bfloat16> check16;
  const trial<double> check64;
  const auto x = small<float>({6, 9}, 1), w = small<float>({9, 4}, 2), bias = small<float>({4}, 3);
  const numbers sums = affine(x, w, {}), with_bias = affine(x, w, on_host(bias));
  check([&] { return relu(matmul(x, w)); }, sums, relu_of, true);
  check([&] { return relu(matmul(x, w) + bias); }, with_bias, relu_of, true);
  check([&] { return relu(bias + matmul(x, w)); }, with_bias, relu_of, true);
  // cuBLASLt's gelu is too coarse for float, which has a kernel after the product.
  check([&] { return gelu_tanh(matmul(x, w) + bias); }, with_bias, gelu_of, false);
  const auto x16 = small<bfloat16>({6, 9}, 1), w16 = small<bfloat16>({9, 4}, 2), bias16 = small<bfloat16>({4}, 3);
  check16([&] { return gelu_tanh(matmul(x16, w16) + bias16); }, with_bias, gelu_of, true, 1e-2);
  const auto x64 = small<double>({6, 9}, 1), w64 = small<double>({9, 4}, 2);
  check64([&] { return gelu_tanh(matmul(x64, w64)); }, sums, gelu_of, false, 1e-12);  // not cuBLASLt's in float64
}

TEST_CASE("product epilogue: stacks, transposed and spaced operands, sums of nothing") {
  const trial<float> check;
  const auto x = small<float>({2, 3, 9}, 1), w = small<float>({9, 4}, 2), bias = small<float>({4}, 3);
  const numbers added = on_host(bias);
  check([&] { return relu(matmul(x, w) + bias); }, affine(x, w, added), relu_of, true);
  const auto turned = small<float>({4, 9}, 5);
  check([&] { return relu(matmul(x, turned.t()) + bias); }, affine(x, on_device<float>(turned.t().clone()), added),
        relu_of, true);
  const auto wide = small<float>({6, 18}, 1).slice(1, 0, 18, 2);  // copied by a kernel, then one product
  check([&] { return relu(matmul(wide, w) + bias); }, affine(wide, w, added), relu_of, false);
  const auto none = small<float>({6, 9}, 1).slice(1, 0, 0), no_rows = w.slice(0, 0, 0);
  numbers only_added;
  for (int i = 0; i < 6; ++i) only_added.insert(only_added.end(), added.begin(), added.end());
  check([&] { return relu(matmul(none, no_rows) + bias); }, only_added, relu_of, true);
}

TEST_CASE("product epilogue: what cuBLASLt does not have runs as a kernel after the product") {
  const trial<float> check;
  const auto x = small<float>({6, 9}, 1), w = small<float>({9, 4}, 2), bias = small<float>({4}, 3);
  const numbers with_bias = affine(x, w, on_host(bias));
  check([&] { return tanh(matmul(x, w) + bias); }, with_bias, [](double v) { return std::tanh(v); }, false, 1e-5);
  const auto odd = small<float>({5}, 3).slice(0, 1, 5);  // not at a multiple of 16 bytes
  check([&] { return relu(matmul(x, w) + odd); }, affine(x, w, on_host(odd)), relu_of, false);
  const auto column = small<float>({6, 1}, 4), vector = small<float>({9}, 2);
  numbers by_rows = affine(x, w, {});
  for (std::size_t i = 0; i < by_rows.size(); ++i) by_rows[i] += on_host(column)[i / 4];
  check([&] { return relu(matmul(x, w) + column); }, by_rows, relu_of, false);
  check([&] { return relu(matmul(x, vector)); }, affine(x, on_device<float>(vector.reshape({9, 1})), {}), relu_of,
        false);
  const auto whole = small<std::int32_t>({6, 9}, 1), other = small<std::int32_t>({9, 4}, 2);
  CHECK(distance(on_host(on_device<std::int32_t>(relu(matmul(whole, other)))), affine(whole, other, {}), relu_of) == 0);
  if (!check.device.emulated()) return;
  // A library without a kernel for the epilogue: sizes that no plan knows yet.
  check.device.reset();
  const auto y = small<float>({7, 9}, 1);
  check.device.set("fail_heuristic", 1);
  const on_device<float> got = relu(matmul(y, w) + bias);
  CHECK(check.device.count("cuLaunchKernel") == 1);
  CHECK(distance(on_host(got), affine(y, w, on_host(bias)), relu_of) == 0);
  check.device.reset();
}

TEST_CASE("product epilogue: a backward pass finds what it reads") {
  const trial<float> check;
  auto x = small<float>({6, 9}, 1), w = small<float>({9, 4}, 2), bias = small<float>({4}, 3);
  const auto weights = small<float>({6, 4}, 8);
  x.requires_grad(), w.requires_grad(), bias.requires_grad();
  const numbers a = on_host(x), b = on_host(w), g = on_host(weights), sums = affine(x, w, on_host(bias));
  const auto check_gradients = [&](auto apply, double (*op)(double), double (*slope)(double), bool fused) {
    check([&] { return apply(matmul(x, w) + bias); }, sums, op, fused, 1e-5);
    for (on_device<float>* leaf : {&x, &w, &bias}) leaf->zero_grad();
    backward(sum(on_device<float>(apply(matmul(x, w) + bias)) * weights));
    numbers by_x(54), by_w(36), by_bias(4);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t k = 0; k < 4; ++k) {
        const double d = g[i * 4 + k] * slope(sums[i * 4 + k]);
        by_bias[k] += d;
        for (std::size_t j = 0; j < 9; ++j) by_x[i * 9 + j] += d * b[j * 4 + k], by_w[j * 4 + k] += d * a[i * 9 + j];
      }
    CHECK(distance(on_host(x.grad()), by_x, itself) <= 1e-5);
    CHECK(distance(on_host(w.grad()), by_w, itself) <= 1e-5);
    CHECK(distance(on_host(bias.grad()), by_bias, itself) <= 1e-5);
  };
  // relu's gradient reads the result, so training loses nothing; gelu's reads the sum before it.
  check_gradients([](const auto& v) { return relu(v); }, relu_of, [](double v) { return v > 0 ? 1.0 : 0.0; }, true);
  check_gradients([](const auto& v) { return gelu_tanh(v); }, gelu_of,
                  [](double v) { return (gelu_of(v + 1e-6) - gelu_of(v - 1e-6)) / 2e-6; }, false);
  const trial<bfloat16> check16;  // it begins anew: before what it works on
  auto x16 = small<bfloat16>({6, 9}, 1);
  const auto w16 = small<bfloat16>({9, 4}, 2);
  x16.requires_grad();
  const auto half_gelu = [&] { return gelu_tanh(matmul(x16, w16)); };
  check16(half_gelu, affine(x16, w16, {}), gelu_of, false, 1e-2);
  const no_grad off;
  check16(half_gelu, affine(x16, w16, {}), gelu_of, true, 1e-2);
}
