// SPDX-License-Identifier: BSL-1.0
// Products with a bias and an activation, in one call of cuBLASLt where it has what is written: the device against
// plain double loops, and what it makes of NaN.
#include "operands.hpp"

using namespace gpu_test;

namespace {

// op(a b + bias) of m x k by k x n numbers; `size` gets the sum of the magnitudes, which says what rounding may cost.
template <class Op>
std::vector<double> layer(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& bias,
                          std::size_t k, Op op, double& size) {
  const std::size_t n = bias.size();
  std::vector<double> values;
  for (std::size_t i = 0; i < a.size() / k; ++i)
    for (std::size_t c = 0; c < n; ++c) {
      double sum = bias[c], magnitude = std::abs(bias[c]);
      for (std::size_t j = 0; j < k; ++j) {
        sum += a[i * k + j] * b[j * n + c];
        magnitude += std::abs(a[i * k + j] * b[j * n + c]);
      }
      size = std::max(size, magnitude);
      values.push_back(op(sum));
    }
  return values;
}
double relu_of(double x) {
  return x < 0 ? 0 : x;
}
double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

template <class T>
void check_layers(std::uint64_t seed) {
  drawing draw(seed);
  const std::int64_t most = everything() ? 300 : 20;
  const std::int64_t m = 1 + draw.below(most), k = 1 + draw.below(most), n = 4 * (1 + draw.below(most / 4));
  const dims rows{m, k}, columns{k, n}, one_row{n};
  const auto x = drawn_operand<T>(draw, rows, -1, 1, false, true),
             w = drawn_operand<T>(draw, columns, -1, 1, false, true),
             bias = drawn_operand<T>(draw, one_row, -1, 1, false, true);
  INFO(std::string(kiln::name(dtype_of<T>)), ", seed ", seed, ": ", m, " x ", k, " by ", k, " x ", n);
  double size = 1;
  const auto length = static_cast<std::size_t>(k);
  const auto relus = layer(x.values, w.values, bias.values, length, relu_of, size);
  const auto gelus = layer(x.values, w.values, bias.values, length, gelu_of, size);
  CHECK(distance(to_host(on_device<T>(relu(matmul(x.view, w.view) + bias.view))), relus) <= tolerance<T>() * size);
  CHECK(distance(to_host(on_device<T>(gelu_tanh(matmul(x.view, w.view) + bias.view))), gelus) <= tolerance<T>() * size);
}

}  // namespace

TEST_CASE("gpu: layers of a product, a bias and an activation are those of plain loops") {
  emulate::stand_in();
  const std::uint64_t sizes = everything() ? 6 : 2;
  for (std::uint64_t seed = 1; seed <= sizes; ++seed) {
    check_layers<float>(seed);
    if constexpr (all_types) {
      check_layers<double>(seed);
      check_layers<half>(seed);
      check_layers<bfloat16>(seed);
    }
  }
}

TEST_CASE("gpu: a NaN in a product stays one through gelu, and through relu if the library keeps it") {
  emulate::stand_in();
  // Sizes for small kernels and for those of tensor cores.
  for (const std::int64_t n : {8, 256}) {
    if (n > 8 && !everything()) break;
    const dims square{n, n}, one_row{n};
    std::vector<double> numbers(static_cast<std::size_t>(n * n), 0.5);
    numbers[static_cast<std::size_t>(n)] = NAN;  // in row 1 of the left operand: all of row 1 of the product
    const auto x = to_device<float>(numbers, square),
               w = to_device<float>(std::vector<double>(numbers.size(), -1), square),
               bias = to_device<float>(std::vector<double>(static_cast<std::size_t>(n), 1), one_row);
    const auto check_rows = [&](const on_device<float>& y, double elsewhere, bool must_stay) {
      const std::vector<double> got = to_host(y);
      const bool stays = std::isnan(got[static_cast<std::size_t>(n)]);
      int wrong = must_stay && !stays;
      for (std::int64_t i = 0; i < n * n; ++i) {
        const double v = got[static_cast<std::size_t>(i)];
        wrong += i / n == 1 && stays ? !std::isnan(v) : !(std::abs(v - (i / n == 1 ? 0 : elsewhere)) < 1e-3);
      }
      CHECK(wrong == 0);
      if (!stays) MESSAGE("this library's relu makes 0 of NaN");
    };
    INFO(n, " x ", n);
    check_rows(relu(matmul(x, w)), 0, false);
    check_rows(relu(matmul(x, w) + bias), 0, false);
    const double sum = 1 - 0.5 * static_cast<double>(n);
    check_rows(gelu_tanh(matmul(x, w) + bias), gelu_of(sum), true);
  }
}
