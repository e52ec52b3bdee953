// SPDX-License-Identifier: BSL-1.0
// Expressions before anything is computed: their types, conversions and devices. Nothing here knows a device.
#include <kiln/expr/node.hpp>

#include <kiln/ops/all.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "handles.hpp"

using namespace kiln;

namespace {
template <class E>
using value = typename E::value_type;
struct elsewhere {};
template <class A, class B>
concept addable = requires(A a, B b) {
  a + b;
};

const handle<float> f({3});
const handle<double> d({3});
const handle<std::int32_t> k({3});
const handle<bool> b({3});
const handle<half> h({3});
}  // namespace

TEST_CASE("node: element types follow the promotion table") {
  static_assert(std::is_same_v<value<decltype(f + d)>, double>);
  static_assert(std::is_same_v<value<decltype(k * f)>, float>);
  static_assert(std::is_same_v<value<decltype(k / k)>, float>);
  static_assert(std::is_same_v<value<decltype(h + k)>, half>);
  static_assert(std::is_same_v<value<decltype(exp(k))>, float>);
  static_assert(std::is_same_v<value<decltype(exp(h))>, half>);
  static_assert(std::is_same_v<value<decltype(f < k)>, bool>);
  static_assert(std::is_same_v<value<decltype(b + b)>, bool>);
  static_assert(std::is_same_v<value<decltype(where(b, k, f))>, float>);
  static_assert(std::is_same_v<value<decltype(where(f, k, b))>, std::int32_t>);
  static_assert(std::is_same_v<value<decltype(cast<std::int8_t>(f))>, std::int8_t>);
  static_assert(std::is_same_v<value<decltype(~k)>, std::int32_t>);
}

TEST_CASE("node: numbers change the type only if their category is higher") {
  static_assert(std::is_same_v<value<decltype(f * 2.0)>, float>);
  static_assert(std::is_same_v<value<decltype(0.5 * k)>, float>);
  static_assert(std::is_same_v<value<decltype(k + 1L)>, std::int32_t>);
  static_assert(std::is_same_v<value<decltype(b + 1)>, std::int64_t>);
  static_assert(std::is_same_v<value<decltype(b * 0.5f)>, float>);
  static_assert(std::is_same_v<value<decltype(h - 1.0)>, half>);
  static_assert(std::is_same_v<value<decltype(d + half(1.0f))>, double>);
  static_assert(std::is_same_v<value<decltype(clamp(k, 0, 2.5))>, float>);
  static_assert(std::is_same_v<value<decltype(where(b, 1, 2))>, std::int64_t>);
  static_assert(std::is_same_v<value<decltype(where(b, 1, 0.5))>, float>);
  static_assert(std::is_same_v<value<decltype(where(b, true, false))>, bool>);
}

TEST_CASE("node: a cast to its own type is no node") {
  static_assert(std::is_same_v<decltype(cast<float>(f)), handle<float>>);
  static_assert(!std::is_same_v<decltype(cast<double>(f)), handle<float>>);
}

TEST_CASE("node: numbers are stored in the type they are computed in") {
  const auto y = f * 0.1;
  static_assert(std::is_same_v<std::remove_const_t<decltype(y.b.value)>, float>);
  CHECK(y.b.value == 0.1f);
  const auto z = h * 0.1;
  static_assert(std::is_same_v<std::remove_const_t<decltype(z.b.value)>, float>);
  CHECK(z.b.value == 0.1f);  // not rounded to half: only the result is
  CHECK((k + 7).b.value == 7);
}

TEST_CASE("node: an expression owns handles to its operands") {
  auto made = [] {
    const handle<float> local({2, 5});
    return local + 1.0f;
  };
  CHECK(made().a.sizes() == dims{2, 5});
}

TEST_CASE("concepts: what is an expression, a leaf, a number") {
  static_assert(Expression<handle<float>> && Leaf<handle<float>>);
  static_assert(Expression<decltype(f + 1)> && !Leaf<decltype(f + 1)>);
  static_assert(!Expression<float> && !Expression<symbol> && Operand<symbol>);
  // Plain floats and doubles are operands: functions of them run at once.
  static_assert(Operands<handle<float>, int> && Operands<int, float> && !Operands<int, int>);
  // Operators do not reach for types that have nothing to do with kiln.
  static_assert(!addable<std::string, handle<float>> && !addable<const char*, handle<float>> &&
                addable<handle<float>, int>);
}

TEST_CASE("node: the device is that of the operands; numbers go with any") {
  static_assert(std::is_same_v<decltype(f + 1)::device_type, no_such_device>);
  static_assert(std::is_same_v<decltype(where(true, handle<float, elsewhere>(dims{}), 0))::device_type, elsewhere>);
}
