// SPDX-License-Identifier: BSL-1.0
// argmax and argmin against std::max_element over the elements listed one by one.
#include <kiln/tensor/argmax.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

#include <kiln/autograd/backward.hpp>

using namespace kiln;

namespace {

// The first best position by NumPy's rules, in a list.
template <class T>
std::int64_t expected(const std::vector<T>& v, bool largest) {
  const auto nan = std::find_if(v.begin(), v.end(), [](T x) { return x != x; });
  if (nan != v.end()) return nan - v.begin();
  const auto less = [](T a, T b) { return a < b; };
  return (largest ? std::max_element(v.begin(), v.end(), less) : std::min_element(v.begin(), v.end(), less)) -
         v.begin();
}

}  // namespace

TEST_CASE_TEMPLATE("the first largest and smallest element of any length is found", T, std::uint8_t, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, float, double) {
  std::mt19937 random(1);
  for (std::int64_t n : {1, 2, 10, 63, 64, 500, 511, 512, 513, 1023, 1024, 1025, 2500, 4095, 4096, 4097, 8191, 10000}) {
    for (int kind = 0; kind < 4; ++kind) {
      // Few different values make ties; a ramp puts the best at an end.
      std::vector<T> v(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = kind == 0   ? static_cast<T>(random() % 3)
               : kind == 1 ? static_cast<T>(static_cast<std::int32_t>(random() % 120))
                           : static_cast<T>(0);
      if (kind == 2) v.back() = T(1);
      if (kind == 3 && n > 1) v[static_cast<std::size_t>(n / 2)] = T(1);
      const auto x = tensor(v);
      REQUIRE(argmax(x).item() == expected(v, true));
      REQUIRE(argmin(x).item() == expected(v, false));
    }
  }
}

TEST_CASE_TEMPLATE("a nan wins wherever it is, the first of several", T, float, double) {
  const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  for (std::size_t n : {3u, 100u, 3000u, 3001u})
    for (std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<T> v(n, T(1));
      v[n / 3] = inf;
      v[at] = nan;
      v[n - 1] = nan;
      CHECK(argmax(tensor(v)).item() == static_cast<std::int64_t>(at));
      CHECK(argmin(tensor(v)).item() == static_cast<std::int64_t>(at));
    }
  CHECK(argmax(Tensor<T>{-inf, -inf}).item() == 0);
  CHECK(argmin(Tensor<T>{inf, T(1), -inf}).item() == 2);
}

TEST_CASE("along an axis, with and without keepdim, of any layout") {
  std::mt19937 random(2);
  auto x = empty<float>({3, 70, 5});
  for (float& v : x.span()) v = static_cast<float>(random() % 40);
  for (const Tensor<float>& y : {x, x.transpose(0, 1), x.slice(1, 1, 60, 3), x.permute({2, 0, 1})})
    for (int axis = 0; axis < 3; ++axis) {
      const auto got = argmax(y, axis), kept = argmin(y, axis - 3, true);
      dims sizes = y.sizes();
      sizes[axis] = 1;
      REQUIRE(kept.sizes() == sizes);
      sizes.erase(axis);
      REQUIRE(got.sizes() == sizes);
      std::int64_t k = 0;
      const dims s = y.sizes();
      const int p = axis == 0 ? 1 : 0, q = axis == 2 ? 1 : 2;
      for (std::int64_t i = 0; i < s[p]; ++i)
        for (std::int64_t j = 0; j < s[q]; ++j, ++k) {
          std::vector<float> row;
          for (std::int64_t m = 0; m < s[axis]; ++m) {
            std::array<std::int64_t, 3> at{};
            at[static_cast<std::size_t>(p)] = i, at[static_cast<std::size_t>(q)] = j,
            at[static_cast<std::size_t>(axis)] = m;
            row.push_back(y(at[0], at[1], at[2]));
          }
          REQUIRE(got.data()[k] == expected(row, true));
          REQUIRE(kept.data()[k] == expected(row, false));
        }
    }
}

TEST_CASE("all elements count in row-major order") {
  const Tensor<float> x{{1, 9, 2}, {9, 0, 3}};
  CHECK(argmax(x).item() == 1);
  CHECK(argmax(x.t()).item() == 1);  // 1 9 9 0 2 3
  CHECK(argmin(x.t()).item() == 3);
  CHECK(argmax(x, {}, true).sizes() == dims{1, 1});
  CHECK(argmax(Tensor<float>(3.0f)).item() == 0);
  CHECK(argmax(Tensor<float>(3.0f), 0).dim() == 0);
  CHECK(argmax(x - 2 * x).item() == 4);
}

TEST_CASE("bool and half types have an order too") {
  CHECK(argmax(Tensor<bool>{false, true, true}).item() == 1);
  CHECK(argmin(Tensor<bool>{true, true, false}).item() == 2);
  CHECK(argmax(cast<half>(Tensor<float>{1, 3, 2})).item() == 1);
  auto wide = zeros<bfloat16>({5000});
  wide.data()[4321] = bfloat16(0.5f);
  wide.data()[4400] = bfloat16(0.5f);
  CHECK(argmax(wide).item() == 4321);
}

TEST_CASE("several threads find the same") {
  std::mt19937 random(3);
  auto x = empty<float>({300, 1000});
  for (float& v : x.span()) v = static_cast<float>(random());
  const auto got = argmax(x, -1);
  for (std::int64_t i = 0; i < 300; ++i) {
    const float* row = x.data() + 1000 * i;
    REQUIRE(got(i) == std::max_element(row, row + 1000) - row);
  }
}

TEST_CASE("nothing to choose from is an error, no rows to choose in is not") {
  CHECK_THROWS_WITH_AS(
      argmax(empty({0, 3}), 0),
      "argmax: shape [0, 3] has no elements to choose from along this axis: check for an empty tensor first",
      value_error);
  CHECK_THROWS_AS(argmin(empty({0})), value_error);
  CHECK(argmax(empty({0, 3}), 1).sizes() == dims{0});
  CHECK_THROWS_AS(argmax(empty({2, 3}), {0, 1, 2}), index_error);
  CHECK_THROWS_AS(argmax(empty({2, 3, 4}), {0, 1}), value_error);
  CHECK_THROWS_AS(argmax(empty({2, 3}), 2), index_error);
}
