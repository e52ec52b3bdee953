// SPDX-License-Identifier: BSL-1.0
// 8-bit matrices on the stand-in: conversions against those of core/float8.hpp, which ml_dtypes checks, products
// against plain double loops, and what cuBLASLt does not take.
#include <kiln/cuda_float8.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace kiln;

namespace {

// Whole numbers that 3 significant bits hold, for sums that are exact.
Tensor<float> small(const dims& sizes, int seed) {
  const Tensor<float> x = empty<float>(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data()[i] = static_cast<float>((i * 7 + seed) % 9 - 4);
  return x;
}
double product_at(const Tensor<float>& x, const Tensor<float>& w, std::int64_t i, std::int64_t k) {
  double sum = 0;
  for (std::int64_t j = 0; j < x.size(1); ++j) sum += static_cast<double>(x(i, j)) * static_cast<double>(w(k, j));
  return sum;
}

bool lacks_float8_products() {
  emulate::stand_in();
  const bool lacks = cuda::properties({}).architecture < 89;
  if (lacks) MESSAGE("SKIPPED: this GPU is older than compute capability 8.9");
  return lacks;
}

template <Float8 F>
void check_conversions(const Tensor<float>& x) {
  for (const auto range : {float8_range::saturate, float8_range::overflow}) {
    const auto there = to_float8<F>(x.to<Cuda>(), range);
    const Tensor<std::uint8_t> bits = there.bits.template to<Cpu>();
    const Tensor<float> values = there.value().template to<Cpu>();
    int wrong = 0;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const F wanted(x.data()[i], range);
      const float back = wanted;
      wrong += bits.data()[i] != wanted.bits;
      wrong += std::isnan(back) ? !std::isnan(values.data()[i]) : values.data()[i] != back;
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("cuda float8: the kernels convert as the processor does, every half and what lies beside the middles") {
  emulate::stand_in();
  std::vector<float> all;
  for (unsigned i = 0; i < 65536; i += 3) all.push_back(half::from_bits(static_cast<std::uint16_t>(i)));
  for (unsigned i = 0; i < 126; ++i) {
    const float middle =
        (float8_value(static_cast<std::uint8_t>(i), 3) + float8_value(static_cast<std::uint8_t>(i + 1), 3)) / 2;
    for (const float x : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)})
      all.push_back(x), all.push_back(-x);
  }
  for (const float x : {1e30f, 1e-40f, INFINITY, std::numeric_limits<float>::quiet_NaN(), -0.0f}) all.push_back(x);
  const Tensor<float> x = tensor(all);
  check_conversions<float8_e4m3fn>(x);
  check_conversions<float8_e5m2>(x);
  CHECK(to_float8<float8_e5m2>(Tensor<float, Cuda>(x.slice(0, 0, 0).to<Cuda>())).sizes() == dims{0});
}

TEST_CASE("cuda float8: a product is one call of cuBLASLt, in its layout") {
  if (lacks_float8_products()) return;
  const auto& device = emulate::stand_in();
  const Tensor<float> x = small({3, 32}, 1), w = small({16, 32}, 2);
  const auto a = to_float8<float8_e4m3fn>(x.to<Cuda>());
  const auto b = to_float8<float8_e5m2>(w.to<Cuda>());
  const Tensor<float, Cuda> scale_a{2}, scale_b{0.25f};
  cuda::synchronize({});
  device.reset();
  const auto y = scaled_matmul(a, b.t(), scale_a, scale_b);
  if (device.emulated()) {
    CHECK(device.count("cublasLtMatmul") == 1);
    CHECK(device.count("cuLaunchKernel") == 0);
  }
  const auto check = [&](const Tensor<float>& got) {
    int wrong = 0;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < 16; ++k) wrong += static_cast<double>(got(i, k)) != product_at(x, w, i, k) / 2;
    CHECK(wrong == 0);
  };
  check(y.to<Cpu>());
  check(Tensor<float>(cast<float>(scaled_matmul<half>(a, b.t(), scale_a, scale_b).to<Cpu>())));
  // The other way round, and with other scales under the same plan.
  const auto turned = scaled_matmul<float>(b, to_float8<float8_e4m3fn>(w.to<Cuda>()).t(), scale_b, scale_b).to<Cpu>();
  CHECK(static_cast<double>(turned(3, 5)) == product_at(w, w, 3, 5) / 16);
  check(Tensor<float>(scaled_matmul(a, b.t(), Tensor<float, Cuda>{8}, scale_b).to<Cpu>() / 4.0f));
  CHECK(scaled_matmul(a, to_float8<float8_e4m3fn>(zeros<float, Cuda>({0, 32})).t(), scale_a, scale_b).sizes() ==
        dims{3, 0});
}

TEST_CASE("cuda float8: what cuBLASLt does not take is said") {
  const auto& device = emulate::stand_in();
  const auto of = [](const dims& sizes) { return to_float8<float8_e4m3fn>(ones<float, Cuda>(sizes)); };
  const Tensor<float, Cuda> one{1};
  const auto refused = [&](const auto& a, const auto& b, const char* words) {
    CHECK_THROWS_WITH_AS(scaled_matmul(a, b, one, one), doctest::Contains(words), value_error);
  };
  refused(of({3, 24}), of({16, 24}).t(),
          "product of 8-bit matrices 3x24 by 24x16 (float8): cuBLASLt needs the inner size 24");
  refused(of({3, 32}), of({8, 32}).t(), "the columns 8 to be multiples of 16");
  refused(of({3, 32}), of({32, 16}), "reads the right matrix by columns");
  refused(of({32, 3}).t(), of({16, 32}).t(), "reads the left matrix by rows");
  const Float8Tensor<float8_e4m3fn, Cuda> shifted{of({4, 32}).bits.reshape({128}).slice(0, 8, 104).reshape({3, 32})};
  refused(shifted, of({16, 32}).t(), "at multiples of 16 bytes");
  if (!device.emulated()) return;
  device.set("fail_eight_bit", 1);
  CHECK_THROWS_WITH_AS(scaled_matmul(of({5, 32}), of({16, 32}).t(), one, one),
                       doctest::Contains("has no kernel for it; float8 needs compute capability 8.9"), device_error);
}

TEST_CASE("cuda int_matmul: by cuBLASLt where it can, by a kernel elsewhere, with the same numbers") {
  const auto& device = emulate::stand_in();
  const Tensor<float> x = small({3, 8}, 1), w = small({12, 8}, 2);
  const auto check = [&](const Tensor<std::int8_t, Cuda>& a, const Tensor<std::int8_t, Cuda>& b, int products,
                         bool lacking = false) {
    cuda::synchronize({});
    device.reset();
    if (lacking) device.set("fail_eight_bit", 1);
    const Tensor<std::int32_t> y = int_matmul(a, b).to<Cpu>();
    if (device.emulated()) CHECK(device.count("cublasLtMatmul") == products);
    int wrong = 0;
    for (std::int64_t i = 0; i < y.size(0); ++i)
      for (std::int64_t k = 0; k < y.size(1); ++k)
        wrong += y(i, k) != static_cast<std::int32_t>(product_at(x, w, i, k));
    CHECK(wrong == 0);
  };
  const Tensor<std::int8_t, Cuda> a = Tensor<std::int8_t>(cast<std::int8_t>(x)).to<Cuda>(),
                                  b = Tensor<std::int8_t>(cast<std::int8_t>(w)).to<Cuda>();
  check(a, b.t(), 1);
  check(a, b.t().clone(), 0);                                      // by rows
  check(a, b.slice(0, 0, 3).t(), 0);                               // three columns
  check(a.slice(0, 1, 1), b.t(), 0);                               // nothing
  if (device.emulated()) check(a.slice(0, 0, 2), b.t(), 0, true);  // a library without a kernel for it
}
