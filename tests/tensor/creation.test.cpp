// SPDX-License-Identifier: BSL-1.0
// Tensors from nothing and from memory: values written out or from closed forms, shapes, types, and bad requests.
#include <kiln/tensor/creation.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>

using namespace kiln;

namespace {

template <class T>
std::vector<double> values(const Tensor<T>& x) {
  std::vector<double> out;
  for (const auto v : x.span()) out.push_back(static_cast<double>(static_cast<compute_t<T>>(v)));
  return out;
}
using list = std::vector<double>;

}  // namespace

TEST_CASE_TEMPLATE("zeros, ones, full and eye exist for every element type", T, bool, std::uint8_t, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, half, bfloat16, float, double) {
  CHECK(values(zeros<T>({2, 2})) == list{0, 0, 0, 0});
  CHECK(values(ones<T>({3})) == list{1, 1, 1});
  CHECK(values(full<T>({2}, 1)) == list{1, 1});
  CHECK(values(full<T>({2}, true)) == list{1, 1});
  CHECK(values(eye<T>(2, 3)) == list{1, 0, 0, 0, 1, 0});
  CHECK(empty<T>({4, 0}).sizes() == dims{4, 0});
  CHECK(zeros<T>({}).item() == T(0));
}

TEST_CASE("a large tensor is filled to its last element and not beyond") {
  for (std::int64_t n : {1, 1023, 1024, 1025, 300001}) {
    std::vector<float> memory(static_cast<std::size_t>(n) + 8, -1.0f);
    const auto looking = from_blob(memory.data(), {n});
    executor<Cpu>::fill(*looking.state(), 2.5f);
    bool all = true;
    for (std::int64_t i = 0; i < n; ++i) all &= memory[static_cast<std::size_t>(i)] == 2.5f;
    CHECK(all);
    CHECK(memory[static_cast<std::size_t>(n)] == -1);
  }
}

TEST_CASE("full takes its type from the number, as PyTorch does") {
  static_assert(std::is_same_v<decltype(full({1}, 1.5)), Tensor<float>>);
  static_assert(std::is_same_v<decltype(full({1}, 2)), Tensor<std::int64_t>>);
  static_assert(std::is_same_v<decltype(full({1}, true)), Tensor<bool>>);
  static_assert(std::is_same_v<decltype(full<half>({1}, 2)), Tensor<half>>);
  static_assert(std::is_same_v<decltype(arange(3)), Tensor<std::int64_t>>);
  static_assert(std::is_same_v<decltype(arange(0, 1, 0.25)), Tensor<float>>);
  static_assert(std::is_same_v<decltype(zeros({1})), Tensor<float>>);
  CHECK(full({1}, 2.5).item() == 2.5f);
}

TEST_CASE("a value that the type cannot hold is named") {
  CHECK_THROWS_WITH_AS(full<std::uint8_t>({2}, 256),
                       "full: 256 is no value of uint8: use a wider element type or a smaller number", value_error);
  CHECK_THROWS_AS(full<std::uint8_t>({2}, -1), value_error);
  CHECK_THROWS_AS(full<std::int8_t>({2}, 128.0), value_error);
  CHECK_THROWS_AS(full<std::int64_t>({2}, 0x1p63), value_error);
  CHECK_THROWS_AS(full<std::int32_t>({2}, std::numeric_limits<double>::quiet_NaN()), value_error);
  CHECK_THROWS_AS(full<std::int32_t>({2}, -std::numeric_limits<float>::infinity()), value_error);
  CHECK_THROWS_AS(full<std::int64_t>({2}, std::numeric_limits<std::uint64_t>::max()), value_error);
  CHECK(full<std::int8_t>({1}, -128.0).item() == -128);
  CHECK(full<std::int8_t>({1}, 127.9).item() == 127);
  CHECK(full<std::uint8_t>({1}, -0.5).item() == 0);
  CHECK(full<std::int64_t>({1}, -0x1p63).item() == std::numeric_limits<std::int64_t>::min());
  CHECK(std::isinf(static_cast<float>(full<half>({1}, 1e6).item())));
}

TEST_CASE("impossible sizes are errors") {
  CHECK_THROWS_AS(zeros({-1, 2}), shape_error);
  CHECK_THROWS_AS(empty({std::int64_t{1} << 31, std::int64_t{1} << 31, 8}), shape_error);
  CHECK_THROWS_AS(eye(-2), shape_error);
  const volatile int too_many = max_rank + 1;  // a constant would make g++ 12 warn of the error that is tested
  CHECK_THROWS_AS(empty(dims::filled(too_many, 1)), shape_error);
}

TEST_CASE("arange counts as NumPy does") {
  CHECK(values(arange(4)) == list{0, 1, 2, 3});
  CHECK(values(arange(1, 8, 3)) == list{1, 4, 7});
  CHECK(values(arange(5, 0, -2)) == list{5, 3, 1});
  CHECK(values(arange<float>(0, 1, 0.25)) == list{0, 0.25, 0.5, 0.75});
  CHECK(values(arange(1.0, 2.1, 0.5)) == list{1, 1.5, 2});
  CHECK(values(arange<half>(3)) == list{0, 1, 2});
  CHECK(values(arange<double>(3, 1)) == list{});
  CHECK(values(arange(3, 1)) == list{});
  CHECK(values(arange<std::uint8_t>(250, 256)) == list{250, 251, 252, 253, 254, 255});
  CHECK(arange<double>(0, 1, 0.1).numel() == 10);
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  CHECK(arange(least, most, most).numel() == 3);
  CHECK(arange(least, most, most)(2) == most - 1);
  CHECK(arange(most, least, least).numel() == 2);
  CHECK(arange(most, least, least)(1) == -1);
  CHECK(arange<float>(100000)(99999) == 99999);
}

TEST_CASE("arange refuses what is no range") {
  CHECK_THROWS_AS(arange(0, 5, 0), value_error);
  CHECK_THROWS_AS(arange(0.0, 5.0, 0.0), value_error);
  CHECK_THROWS_AS(arange(0.0, std::numeric_limits<double>::infinity()), value_error);
  CHECK_THROWS_AS(arange(std::numeric_limits<double>::quiet_NaN()), value_error);
  CHECK_THROWS_AS(arange<std::int8_t>(129), value_error);
  CHECK_NOTHROW(arange<std::int8_t>(128));
  CHECK_THROWS_AS(arange(0.0, 1e30, 1.0), shape_error);
  CHECK_THROWS_AS(arange(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()),
                  shape_error);
}

TEST_CASE("linspace has both ends and equal steps") {
  CHECK(values(linspace(0, 1, 5)) == list{0, 0.25, 0.5, 0.75, 1});
  CHECK(values(linspace(3, 3, 2)) == list{3, 3});
  CHECK(values(linspace(2, 9, 1)) == list{2});
  CHECK(values(linspace(2, 9, 0)) == list{});
  CHECK(values(linspace<std::int32_t>(0, 10, 5)) == list{0, 2, 5, 7, 10});
  const auto x = linspace<double>(-1, 0.1, 777);
  CHECK(x(776) == 0.1);
  CHECK(x(0) == -1);
  for (int i = 0; i < 777; ++i) REQUIRE(std::abs(x(i) - (-1 + 1.1 * i / 776)) < 1e-15);
  CHECK_THROWS_AS(linspace(0, 1, -1), value_error);
  CHECK_THROWS_AS(linspace<std::uint8_t>(0, 300, 2), value_error);
}

TEST_CASE("the forms that follow another tensor do not evaluate it") {
  const Tensor<double> a{{1, 2, 3}}, b{{1}, {2}};
  static_assert(std::is_same_v<decltype(zeros_like(a)), Tensor<double>>);
  CHECK(ones_like(a + b).sizes() == dims{2, 3});
  CHECK(values(full_like(a, 7)) == list{7, 7, 7});
  CHECK(empty_like(a).sizes() == dims{1, 3});
  static_assert(std::is_same_v<decltype(zeros_like(a > 1)), Tensor<bool>>);
}

TEST_CASE("tensors copy what ranges hold") {
  std::vector<float> v{1, 2, 3, 4, 5, 6};
  const auto x = tensor(v, {2, 3});
  v[0] = 9;
  CHECK(values(x) == list{1, 2, 3, 4, 5, 6});
  CHECK(x.sizes() == dims{2, 3});
  CHECK(values(tensor(std::span<const float>(v).first(2))) == list{9, 2});
  CHECK(values(tensor(std::array<half, 2>{half(1.5f), half(2.0f)})) == list{1.5, 2});
  const int plain[] = {4, 5};
  CHECK(values(tensor(plain)) == list{4, 5});
  CHECK(tensor(std::vector<double>{}).sizes() == dims{0});
  CHECK_THROWS_WITH_AS(tensor(v, {4, 2}), "tensor: 6 elements do not fill shape [4, 2], which has 8", shape_error);
}

TEST_CASE("nested vectors become axes and must be equally long") {
  using rows = std::vector<std::vector<double>>;
  CHECK(values(tensor(rows{{1, 2}, {3, 4}, {5, 6}})) == list{1, 2, 3, 4, 5, 6});
  CHECK(tensor(rows{{1, 2}, {3, 4}, {5, 6}}).sizes() == dims{3, 2});
  CHECK(tensor(std::vector<rows>{{{1}, {2}}, {{3}, {4}}}).sizes() == dims{2, 2, 1});
  CHECK(tensor(rows{}).sizes() == dims{0, 0});
  CHECK(tensor(rows{{}, {}}).sizes() == dims{2, 0});
  CHECK_THROWS_WITH_AS(tensor(rows{{1, 2}, {3}}),
                       "tensor: axis 1 has rows of 2 and of 1 elements: make them equally long", shape_error);
  CHECK_THROWS_AS(tensor(std::vector<rows>{{{1}, {2}}, {{3}}}), shape_error);
}

TEST_CASE("from_blob looks at memory and holds what keeps it alive") {
  auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  {
    Tensor<float> x = from_blob(memory->data(), {2, 3}, memory);
    CHECK(memory.use_count() == 2);
    x += 1;
    CHECK((*memory)[5] == 7);
    const Tensor<float> columns = from_blob(memory->data(), {3, 2}, {1, 3});
    CHECK(columns(2, 1) == 7);
    CHECK(static_cast<float>(Tensor<float>(sum(columns)).item()) == 27);
  }
  CHECK(memory.use_count() == 1);
  CHECK_THROWS_AS(from_blob(memory->data(), {2, 3}, dims{1}), shape_error);
  float* const nothing = nullptr;
  CHECK_THROWS_AS(from_blob(nothing, {2}), value_error);
  CHECK(from_blob(nothing, {0, 3}).numel() == 0);
}

TEST_CASE("what was created can require grad") {
  auto w = zeros({3});
  w.requires_grad();
  backward(sum((w + 1) * arange<float>(3)));
  CHECK(values(w.grad()) == list{0, 1, 2});
}

TEST_CASE("creation: sizes as integers of any type, in a vector, or without braces") {
  const std::size_t rows = 2;
  const int columns = 3;
  CHECK(zeros({rows, columns}).sizes() == dims{2, 3});
  CHECK(zeros(rows, columns).sizes() == dims{2, 3});
  CHECK(ones<int>(2, 3)(1, 2) == 1);
  CHECK(empty<double>(2, 3).sizes() == dims{2, 3});
  CHECK(full(std::vector<int>{2, 3}, 1.5)(1, 2) == 1.5f);
  CHECK(zeros(3).sizes() == dims{3});
  CHECK(zeros({4}).sizes() == dims{4});
  CHECK(arange<float>(6).reshape(2, columns)(1, 2) == 5);
  CHECK(arange<float>(6).view(rows, -1).permute(1, 0).sizes() == dims{3, 2});
  CHECK(reshape(zeros(2, 3), -1).sizes() == dims{6});
}

TEST_CASE("creation: blobs at odd addresses, larger than caches") {
  const std::int64_t n = std::int64_t{3} << 20;  // 12 MiB, 36 with its operands
  const Tensor<float> a = full<float>({n}, 1.5), b = arange<float>(n);
  std::vector<char> memory(static_cast<std::size_t>(n) * 4 + 64);
  for (int odd : {1, 2, 3, 61}) {
    Tensor<float> t = from_blob(reinterpret_cast<float*>(memory.data() + odd), {n});
    t.copy_(a + b);
    float value = 0;
    for (std::int64_t i : {std::int64_t{0}, std::int64_t{15}, n / 2 + 1, n - 1}) {
      std::memcpy(&value, memory.data() + odd + i * 4, 4);
      CHECK(value == 1.5f + static_cast<float>(i));
    }
  }
}

TEST_CASE("linspace: between ends of which the distance is no double") {
  const Tensor<double> y = linspace<double>(-1.7e308, 1.7e308, 3);
  CHECK(y(0) == -1.7e308);
  CHECK(y(1) == 0);
  CHECK(y(2) == 1.7e308);
  const Tensor<double> z = linspace<double>(-1.7e308, 1.7e308, 5), two = linspace<double>(1.7e308, -1.7e308, 2);
  CHECK(z(1) == doctest::Approx(-0.85e308));
  CHECK(two(0) == 1.7e308);
  CHECK(two(1) == -1.7e308);
}

TEST_CASE("tensor: of lists and of a number; the type is that in which they are written, or named") {
  CHECK(values(tensor({1.5f, 2.5f})) == list{1.5, 2.5});
  static_assert(std::is_same_v<decltype(tensor({1, 2})), Tensor<int>>);
  static_assert(std::is_same_v<decltype(tensor<float>({1, 2})), Tensor<float>>);
  CHECK(tensor({{1, 2, 3}, {4, 5, 6}}).sizes() == dims{2, 3});
  CHECK(tensor({{1, 2, 3}, {4, 5, 6}})(1, 0) == 4);
  CHECK(tensor({1.0, 2.0, 3.0, 4.0}, {2, 2})(1, 0) == 3);
  CHECK(tensor(2.5).item() == 2.5);
  CHECK(tensor(2.5).dim() == 0);
  CHECK_THROWS_AS(tensor({{1, 2}, {3}}), shape_error);
}

TEST_CASE("Tensor: without a type it holds float, and numbers of several types their common one") {
  Tensor t;
  static_assert(std::is_same_v<decltype(t), Tensor<float>>);
  CHECK_FALSE(t.defined());
  const Tensor mixed{1, 2.5, 3.f};
  static_assert(std::is_same_v<decltype(mixed), const Tensor<double>>);
  CHECK(values(mixed) == list{1, 2.5, 3});
  const Tensor<double> zero(3), half(0.5f);
  CHECK(zero.item() == 3);
  CHECK(half.item() == 0.5);
  CHECK(Tensor(2.f).dim() == 0);
}
