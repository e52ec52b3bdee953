// SPDX-License-Identifier: BSL-1.0
// From the type of an expression to its tape: exact tapes, and which leaves are taken for one tensor.
#include <kiln/expr/flatten.hpp>

#include <kiln/expr/reductions.hpp>
#include <kiln/tape/infix.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "handles.hpp"

using namespace kiln;

namespace {

const handle<float> a({2, 3}), b({3}), c({3});
const handle<half> h({3});
const handle<std::int32_t> k({3});

template <class E>
std::string value_text(const E&) {
  return listing(view(value_tape<E>), op_rules_table);
}
template <class E>
std::string written_text(const E&) {
  return listing(view(written_tape<E>), op_rules_table);
}
template <class E>
constexpr int value_size(const E&) {
  return value_tape<E>.size();
}
template <class E>
std::string value_formula(const E&) {
  return infix(view(value_tape<E>), op_rules_table);
}
// The slot that each leaf is taken for.
template <class E>
std::vector<int> sharing_of(const E&) {
  std::vector<int> slots;
  for (int i = 0; i < census<E>::leaves; ++i) slots.push_back(shared_leaves<E>.leaf[static_cast<std::size_t>(i)]);
  return slots;
}

// A sum of Terms products with numbers of their own.
template <int Terms>
auto sum_of_products() {
  if constexpr (Terms == 1)
    return a * 2.0f;
  else
    return sum_of_products<Terms / 2>() + sum_of_products<Terms - Terms / 2>();
}

}  // namespace

TEST_CASE("flatten: relu(a * b + c), written and as it runs") {
  const auto e = relu(a * b + c);
  CHECK(written_text(e) ==
        "%0 = leaf float32 x0\n"
        "%1 = leaf float32 x1\n"
        "%2 = mul float32 %0 %1\n"
        "%3 = leaf float32 x2\n"
        "%4 = add float32 %2 %3\n"
        "%5 = relu float32 %4\n"
        "result %5\n");
  CHECK(value_text(e) ==
        "%0 = leaf float32 x0\n"
        "%1 = leaf float32 x1\n"
        "%2 = mul float32 %0 %1\n"
        "%3 = leaf float32 x2\n"
        "%4 = add float32 %2 %3\n"
        "%5 = constant float32 0\n"
        "%6 = lt bool %4 %5\n"
        "%7 = where float32 %6 %5 %4\n"
        "result %7\n");
}

TEST_CASE("flatten: numbers are parameters, so that their value does not make another kernel") {
  CHECK(value_text(a * 2.0f) == value_text(a * 3.0f));
  CHECK(value_text(a * 2.0f) ==
        "%0 = leaf float32 x0\n"
        "%1 = number float32 n0\n"
        "%2 = mul float32 %0 %1\n"
        "result %2\n");
}

TEST_CASE("flatten: half leaves are computed with as float, without a cast") {
  CHECK(value_text(h * h) ==
        "%0 = leaf float16 x0\n"
        "%1 = leaf float16 x1\n"
        "%2 = mul float32 %0 %1\n"
        "result %2\n");
  CHECK(value_formula(cast<float>(h) + a) == "x0 + x1");
  CHECK(value_formula(cast<half>(a) * h) == "float16(x0) * x1");  // a cast to half rounds there
  CHECK(value_formula(k + a) == "float32(x0) + x1");
}

TEST_CASE("census: leaves, numbers, row functions and products are counted") {
  using E = decltype(softmax(a) * 2.0f + layer_norm(a) + product<handle<float>, handle<float>>{a, b});
  CHECK(census<E>::leaves == 3);
  CHECK(census<E>::scalars == 3);  // 2, and the two of layer_norm
  CHECK(census<E>::rows == 2);
  CHECK(census<E>::products == 1);
}

TEST_CASE("sharing: without reductions every leaf is its own, whatever the tensors are") {
  CHECK(sharing_of(a * a + a) == std::vector<int>{0, 1, 2});
}

TEST_CASE("sharing: a tensor and its own reduction are taken for one") {
  CHECK(sharing_of(a - mean(a, -1, true)) == std::vector<int>{0, 0});
  CHECK(value_formula(a - mean(a, -1, true)) == "x0 - sum(x0) / n0");
  CHECK(value_formula(exp(a - max(a)) / sum(exp(a - max(a)))) == "exp(x0 - max(x0)) / sum(exp(x0 - max(x0)))");
  const auto d = a - mean(a, -1, true);
  const auto norm = d * rsqrt(mean(square(d), -1, true) + 1e-5f);
  CHECK(value_formula(norm) == "(x0 - sum(x0) / n0) * rsqrt(sum((x0 - sum(x0) / n0) * (x0 - sum(x0) / n0)) / n2 + n3)");
}

TEST_CASE("sharing: the first tensor below a reduction is taken for the first of its type") {
  CHECK(sharing_of(a * rsqrt(mean(square(a), -1, true))) == std::vector<int>{0, 0});
  CHECK(sharing_of(a * sum(exp(a) * b, -1, true)) == std::vector<int>{0, 0, 2});
}

TEST_CASE("sharing: other leaves beside a reduction stay apart") {
  CHECK(sharing_of((a - mean(a, -1, true)) * b + c) == std::vector<int>{0, 0, 2, 3});
  CHECK(sharing_of(softmax(a) * b) == std::vector<int>{0, 1});
}

TEST_CASE("gradient_tape: a result per leaf; shared leaves have one gradient together") {
  using E = std::remove_const_t<decltype(a - mean(a, -1, true))>;
  constexpr auto& t = gradient_tape<E>;
  CHECK(t.result_count() == 2);
  CHECK(t.result(0) >= 0);
  CHECK(t.result(1) == -1);
  CHECK(infix(view(t), op_rules_table, {{"x", "", "g", "y"}, {}}) == "y0 = g + sum(-g) / n0\ny1 = none");
}

TEST_CASE("value_tape: however long, a tape without composite ops is the one that is written") {
  const auto fits = sum_of_products<64>();
  const auto goes_beyond = sum_of_products<65>();
  CHECK(value_size(fits) == 255);
  CHECK(value_text(fits) == written_text(fits));
  CHECK(value_size(goes_beyond) == 259);
  CHECK(value_text(goes_beyond) == written_text(goes_beyond));
}

TEST_CASE("tapes grow in a straight line with the expression") {
  const auto one = a * b, two = c * b;
  static_assert(std::is_same_v<decltype(one), decltype(two)>);
  CHECK(value_size(one) == 3);
  CHECK(value_size(one + two) == 7);
  CHECK(value_size(one + two - one * two) == 15);
}
