// SPDX-License-Identifier: BSL-1.0
// The vectors of a product: moves that convert half types, and squares of them transposed.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kiln/core/half.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>

using namespace kiln;
using namespace kiln::cpu::detail;

namespace {

template <class T, class S>
void check_transposed() {
  constexpr int lanes = gemm_vector<T>::lanes;
  for (const int valid : {-3, 0, 1, lanes - 1, lanes, lanes + 5}) {
    const std::int64_t stride = lanes + 3, to_stride = lanes + 1;
    std::vector<S> from;
    for (int i = 0; i < lanes * stride; ++i) from.push_back(static_cast<S>(static_cast<float>(i)));
    std::vector<T> to(static_cast<std::size_t>(lanes * to_stride), T{77});
    transpose_square(from.data(), stride, valid, to.data(), to_stride);
    int wrong = 0;
    for (int j = 0; j < lanes; ++j) {
      for (int i = 0; i < to_stride; ++i) {
        // 256 and 512 bytes at most: whole numbers below 2048 for half, below 256 for bfloat16 are exact.
        const T want = i == lanes  ? T{77}
                       : i < valid ? static_cast<T>(from[static_cast<std::size_t>(i * stride + j)])
                                   : T{};
        wrong += to[static_cast<std::size_t>(j * to_stride + i)] != want;
      }
    }
    CHECK(wrong == 0);
  }
}

template <class S>
void check_moves() {
  using V = gemm_vector<float>::type;
  constexpr int lanes = gemm_vector<float>::lanes;
  std::vector<S> from, to(lanes + 1, static_cast<S>(9.0F));
  for (int i = 0; i < lanes; ++i) from.push_back(static_cast<S>(static_cast<float>(i) / 4 - 1));
  const V values = load_vector<V>(from.data());
  int wrong = 0;
  for (int i = 0; i < lanes; ++i) wrong += values[i] != static_cast<float>(i) / 4 - 1;
  store_vector(to.data(), values);
  for (std::size_t i = 0; i < lanes; ++i) wrong += static_cast<float>(to[i]) != static_cast<float>(from[i]);
  CHECK(wrong == 0);
  CHECK(static_cast<float>(to.back()) == 9.0F);
}

}  // namespace

TEST_CASE("gemm vector: squares are transposed, rows that do not exist are zeros and not read") {
  check_transposed<float, float>();
  check_transposed<double, double>();
  check_transposed<float, half>();
  check_transposed<float, bfloat16>();
  check_transposed<std::uint32_t, std::uint32_t>();
}

TEST_CASE("gemm vector: moves convert half types and touch no more than a vector") {
  check_moves<float>();
  check_moves<half>();
  check_moves<bfloat16>();
}

TEST_CASE("gemm vector: a step is as far in bytes as in elements, either way, and what is loaded once stays itself") {
  const double numbers[] = {1, 2, 3, 4};
  CHECK(*step_on(numbers, step_bytes<double>(3)) == 4);
  CHECK(*step_on(numbers + 3, step_bytes<double>(-2)) == 2);
  CHECK(step_on(numbers, step_bytes<double>(0)) == numbers);
  using V = gemm_vector<float>::type;
  CHECK(loaded_once<1>(V{} + 3)[0] == 3);
  CHECK(loaded_once<2>(V{} + 3)[0] == 3);
}
