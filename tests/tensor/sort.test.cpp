// SPDX-License-Identifier: BSL-1.0
// sort, argsort, topk, kthvalue and median against std::stable_sort of the elements of each line, listed one by one.
#include <kiln/tensor/sort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/device/cpu/threads/threads.hpp>
#include <kiln/tensor/equal.hpp>

using namespace kiln;

namespace {

// Where the elements of a line are from the smallest to the largest, or the other way.
template <class T>
std::vector<std::int64_t> expected(const std::vector<T>& line, bool descending) {
  const auto less = [](T a, T b) {
    const auto p = static_cast<compute_t<T>>(a), q = static_cast<compute_t<T>>(b);
    return (q != q && p == p) || p < q;
  };
  std::vector<std::int64_t> places(line.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
    const T x = line[static_cast<std::size_t>(a)], y = line[static_cast<std::size_t>(b)];
    return descending ? less(y, x) : less(x, y);
  });
  return places;
}

// Whatever bits make, nans of both signs and zeros of both too; or few different values.
template <class T>
std::vector<T> elements(std::int64_t n, int kind) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::uint64_t bits = random();
    if (kind == 1 || std::is_same_v<T, bool>) {
      v[i] = static_cast<T>(static_cast<float>(bits % 5));
    } else if constexpr (!std::is_same_v<T, bool>) {
      std::memcpy(&v[i], &bits, sizeof(T));
    }
  }
  if constexpr (is_floating(dtype_of<T>))
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i % 7 == 3) v[i] = T(0.0f);
      if (i % 7 == 5) v[i] = T(-0.0f);
      if (i % 11 == 6) v[i] = std::numeric_limits<T>::quiet_NaN();
      if (i % 11 == 8) v[i] = std::numeric_limits<T>::infinity();
      if (i % 11 == 9) v[i] = T(-std::numeric_limits<float>::infinity());
    }
  return v;
}

template <class T>
Tensor<T> line_of(const std::vector<T>& v) {
  auto x = empty<T>({static_cast<std::int64_t>(v.size())});
  std::copy(v.begin(), v.end(), x.data());
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE("lines of every length and type are in the order of a stable sort", T, bool, std::uint8_t,
                   std::int8_t, std::int16_t, std::int32_t, std::int64_t, half, bfloat16, float, double) {
  for (const std::int64_t n : {1, 2, 3, 31, 33, 127, 200, 255, 256, 1000, 5000})
    for (const int kind : {0, 1}) {
      const auto v = elements<T>(n, kind);
      const Tensor<T> x = line_of(v);
      for (const bool descending : {false, true}) {
        const auto places = expected(v, descending);
        const auto [values, indices] = sort(x, -1, descending);
        REQUIRE(std::equal(places.begin(), places.end(), indices.data()));
        for (std::int64_t i = 0; i < n; ++i) {
          const T at = v[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])];
          REQUIRE(std::equal(reinterpret_cast<const char*>(&at), reinterpret_cast<const char*>(&at + 1),
                             reinterpret_cast<const char*>(values.data() + i)));
        }
        for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, n / 10, n / 2, n}) {
          const auto best = topk(x, k, 0, descending).indices;
          REQUIRE(best.sizes() == dims{k});
          REQUIRE(std::equal(places.begin(), places.begin() + k, best.data()));
        }
      }
      const auto places = expected(v, false);
      for (const std::int64_t k : {std::int64_t{1}, (n + 1) / 3 + 1, n})
        if (k <= n) REQUIRE(kthvalue(x, k).indices.item() == places[static_cast<std::size_t>(k - 1)]);
      const auto nan = std::find_if(v.begin(), v.end(), [](T e) {
        const auto number = static_cast<compute_t<T>>(e);
        return number != number;
      });
      REQUIRE(median(x, 0).indices.item() ==
              (nan != v.end() ? nan - v.begin() : places[static_cast<std::size_t>((n - 1) / 2)]));
    }
}

TEST_CASE("along each axis, of any layout, on several threads") {
  std::mt19937 random(2);
  auto x = empty<float>({40, 30, 50});
  for (float& e : x.span()) e = static_cast<float>(random() % 40);
  for (const Tensor<float>& y : {x, x.transpose(0, 1), x.slice(1, 1, 29, 3), x.permute({2, 0, 1}), x.slice(2, 1, 2)})
    for (int axis = 0; axis < 3; ++axis) {
      const auto [values, indices] = sort(y, axis);
      const auto highest = topk(y, 1, axis - 3), second = kthvalue(y, 1, axis, true);
      const auto middle = median(y, axis);
      REQUIRE(argsort(y, axis - 3).sizes() == y.sizes());
      REQUIRE(values.sizes() == y.sizes());
      dims left = y.sizes();
      left[axis] = 1;
      REQUIRE(highest.values.sizes() == left);
      REQUIRE(second.values.sizes() == left);
      left.erase(axis);
      REQUIRE(middle.indices.sizes() == left);
      // The axis last, in memory of their own: line after line.
      const dims order = axis == 0 ? dims{1, 2, 0} : axis == 1 ? dims{0, 2, 1} : dims{0, 1, 2};
      const Tensor<float> lines = y.permute(order).clone(), sorted = values.permute(order).clone();
      const Tensor<std::int64_t> found = indices.permute(order).clone();
      const std::int64_t n = y.size(axis);
      bool right = true;
      for (std::int64_t line = 0; line < y.numel() / n; ++line) {
        const std::vector<float> v(lines.data() + line * n, lines.data() + (line + 1) * n);
        const auto places = expected(v, false);
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int64_t place = places[static_cast<std::size_t>(i)];
          right = right && found.data()[line * n + i] == place &&
                  sorted.data()[line * n + i] == v[static_cast<std::size_t>(place)];
        }
        right = right && middle.indices.data()[line] == places[static_cast<std::size_t>((n - 1) / 2)];
        right = right && highest.indices.data()[line] == expected(v, true)[0];
      }
      REQUIRE(right);
    }
}

TEST_CASE("all elements, expressions, numbers") {
  const Tensor<float> x{{9, 1, 4}, {2, 8, 6}};
  CHECK(median(x).item() == 4);
  CHECK(median(x).dim() == 0);
  CHECK(median(x.t() * 2).item() == 8);
  CHECK(equal(sort(-x, 0).values, Tensor<float>{{-9, -8, -6}, {-2, -1, -4}}));
  CHECK(equal(argsort(x * x, 1, true), Tensor<std::int64_t>{{0, 2, 1}, {1, 2, 0}}));
  CHECK(median(x, 1, true).values.sizes() == dims{2, 1});
  const Tensor<float> number(3.0f);
  for (const auto& [values, indices] : {sort(number), topk(number, 1), kthvalue(number, 1, 0), median(number, -1)}) {
    CHECK(values.dim() == 0);
    CHECK(values.item() == 3);
    CHECK(indices.item() == 0);
  }
  CHECK(median(number).item() == 3);
  CHECK(topk(number, 0).values.sizes() == dims{0});
}

TEST_CASE("gradients go to the elements that were taken") {
  Tensor<double> x{{3, 1, 2}, {5, 9, 7}};
  const Tensor<double> w{{1, 10, 100}, {2, 20, 200}};
  x.requires_grad();
  backward(sum(sort(x, 1).values * w));
  CHECK(equal(x.grad(), Tensor<double>{{100, 1, 10}, {2, 200, 20}}));
  x.zero_grad();
  backward(sum(topk(x * x, 1, 1).values) + sum(median(x, 0).values) + median(x));
  CHECK(equal(x.grad(), Tensor<double>{{7 + 1, 1, 1}, {0, 18, 0}}));
  x.zero_grad();
  const auto indices = argsort(x);
  CHECK_FALSE(indices.needs_grad());
  CHECK_FALSE(sort(x).indices.needs_grad());
  {
    const no_grad quiet;
    CHECK_FALSE(sort(x).values.needs_grad());
  }
}

TEST_CASE("lines of nothing, and none") {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  CHECK(sort(empty({0})).values.sizes() == dims{0});
  CHECK(sort(empty({3, 0}), 0).indices.sizes() == dims{3, 0});
  CHECK(topk(empty({3, 0}), 2, 0).values.sizes() == dims{2, 0});
  CHECK(kthvalue(empty({3, 0}), 2, 0).values.sizes() == dims{0});
  CHECK(median(empty({0, 3}), 1).values.sizes() == dims{0});
  for (const dims& s : {dims{huge, huge, 0}, dims{0, huge, huge}, dims{huge, 0, huge}})
    for (std::int64_t axis = 0; axis < 3; ++axis) CHECK(sort(zeros<float>(s), axis).values.sizes() == s);
}

TEST_CASE("what is asked of no such element is named") {
  const Tensor<float> x{{3, 1, 2}};
  CHECK_THROWS_WITH_AS(topk(x, 4),
                       "topk: k = 4 of 3 elements along axis 1 of shape [1, 3]: use 0 to 3, or name another axis",
                       value_error);
  CHECK_THROWS_AS(topk(x, -1), value_error);
  CHECK_THROWS_WITH_AS(kthvalue(x, 0, 1),
                       "kthvalue: k = 0 of 3 elements along axis 1 of shape [1, 3]: the smallest is k = 1, the largest "
                       "k = 3",
                       value_error);
  CHECK_THROWS_AS(kthvalue(x, 2, 0), value_error);
  CHECK_THROWS_WITH_AS(median(empty({2, 0}), 1),
                       "median: shape [2, 0] has no elements along this axis: check for an empty tensor first",
                       value_error);
  CHECK_THROWS_AS(median(empty({0})), value_error);
  CHECK_THROWS_AS(sort(x, 2), index_error);
  CHECK_THROWS_AS(argsort(x, -3), index_error);
  CHECK_THROWS_AS(median(x, 2), index_error);
}
