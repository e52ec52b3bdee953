// SPDX-License-Identifier: BSL-1.0
// Ops on plain numbers against the standard library: every op in double, by its written-out tape run in long double;
// the types that come out; and functions written once for tensors and numbers.
#include <kiln/device/cpu/kernel/plain.hpp>
#include <kiln/tape/expand.hpp>

#include <doctest/doctest.h>

#include "tape/in_reals.hpp"
#include "tape/sheet.hpp"

using namespace kiln;

namespace {

// A value at which each op is smooth and defined.
double operand_of(std::string_view op, int k) {
  if (op == "acosh") return 1.3;
  if (op == "polygamma") return k == 0 ? 2 : 2.4;
  if (op == "fmod" || op == "remainder") return k == 0 ? -7.1 : 2.3;
  if (op == "where") return k == 0 ? 0 : 0.3 + k;
  if (op == "clamp") return k == 0 ? 0.4 : k == 1 ? 0.2 : 0.3;
  return 0.62 - 0.17 * k;
}

template <class Op>
constexpr bool over_rows = Op::reduces || requires {
  Op::has_identity;
};

template <class Op>
void check_op() {
  if constexpr (!over_rows<Op> && Op::accepts(dtype::float64) && !std::is_same_v<Op, cast_op>) {
    const double a = operand_of(Op::name, 0), b = operand_of(Op::name, 1), c = operand_of(Op::name, 2);
    sheet s;
    symbol x[3] = {};
    for (int k = 0; k < Op::arity; ++k) x[k] = s.leaf(k, dtype::float64);
    if (std::is_same_v<Op, where_op>) x[0] = s.leaf(0, dtype::boolean);
    s.p.add_result(s.p.push({.code = opcode_of(Op::name),
                             .type = dtype::float64,
                             .a = static_cast<std::int16_t>(x[0].id),
                             .b = static_cast<std::int16_t>(x[1].id),
                             .c = static_cast<std::int16_t>(x[2].id)}));
    program flat;
    expand(s.p, flat, op_rules_table, false);
    const long double want = in_reals::run<long double>(flat, {{a}, {b}, {c}})[0][0];
    auto at = [](auto f, double u, double v, double w) {
      if constexpr (Op::arity == 1)
        return f(u);
      else if constexpr (Op::arity == 2)
        return f(u, v);
      else
        return f(u, v, w);
    };
    auto op = [](auto... z) { return apply<Op>(z...); };
    const auto got = at(op, a, b, c);
    CHECK_MESSAGE(
        std::abs(static_cast<double>(got) - static_cast<double>(want)) <= 4e-15 * std::max(1.0L, std::abs(want)),
        Op::name);
    using T = std::remove_const_t<decltype(got)>;
    CHECK_MESSAGE((std::is_same_v<T, double> || std::is_same_v<T, bool>), Op::name);
    auto in_float = [](auto... z) { return apply<Op>(static_cast<float>(z)...); };
    const auto narrow = at(in_float, a, b, c);
    CHECK_MESSAGE((std::is_same_v<std::remove_const_t<decltype(narrow)>, float> ||
                   std::is_same_v<std::remove_const_t<decltype(narrow)>, bool>),
                  Op::name);
    CHECK_MESSAGE(std::abs(static_cast<double>(narrow) - static_cast<double>(want)) <=
                      4e-6 * std::max(1.0, std::abs(static_cast<double>(want))),
                  Op::name);
  }
}
template <class... Ops>
void check_all(op_list<Ops...>) {
  (check_op<Ops>(), ...);
}

constexpr auto huber(auto x) {
  return where(abs(x) < 1, 0.5 * x * x, abs(x) - 0.5);
}

}  // namespace

TEST_CASE("plain: every op, against the standard library") {
  check_all(all_ops{});
}

TEST_CASE("plain: functions are found by their names, and float stays float") {
  static_assert(std::is_same_v<decltype(relu(0.5f)), float>);
  static_assert(std::is_same_v<decltype(relu(0.5)), double>);
  static_assert(std::is_same_v<decltype(where(true, 0, 0.5f)), float>);
  static_assert(std::is_same_v<decltype(leaky_relu(0.5f)), float>);  // its slope is a double
  static_assert(std::is_same_v<decltype(kiln::maximum(0.5f, 2.0)), float>);
  static_assert(std::is_same_v<decltype(kiln::isnan(0.5f)), bool>);
  CHECK(relu(-0.5f) == 0);
  CHECK(relu(0.5f) == 0.5f);
  CHECK(sigmoid(0.0f) == 0.5f);
  CHECK(where(0.5f < 1, 2, 3) == 2);
  CHECK(where(logical_and(0.5f < 1, 0.5f > 0), 1.5f, 0) == 1.5f);
  CHECK(clamp(3.0f, 0, 1) == 1);
  CHECK(kiln::pow(2.0f, 3) == 8);
  CHECK(huber(0.5f) == 0.125f);
  CHECK(huber(-2.0) == 1.5);
}

TEST_CASE("plain: nan stays nan where it does on tensors") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(relu(nan)));
  CHECK(std::isnan(minimum(nan, 1.0)));
  CHECK(std::isnan(minimum(1.0, nan)));
  CHECK(std::isnan(maximum(nan, 1.0)));
  CHECK(std::isnan(maximum(1.0, nan)));
  CHECK(std::isnan(clamp(nan, 0, 1)));
  CHECK(kiln::round(2.5f) == 2);
  CHECK(kiln::remainder(-7, 2.0f) == 1);
}

TEST_CASE("plain: in constant expressions") {
  static_assert(relu(-0.5f) == 0 && huber(0.5) == 0.125 && square(3.0f) == 9);
}

namespace both {
// With std:: beside kiln::, the names that both have mean one function.
using namespace kiln;
using namespace std;
inline double mixed(double x) {
  return exp(x) + sqrt(2.0f) + pow(x, 2) + abs(-2) + fmod(7.0, 2.0) + log(1) + round(1.5f) + hypot(3.0, 4.0) +
         floor(1.5);
}
}  // namespace both

TEST_CASE("plain: no call is ambiguous with both namespaces open") {
  CHECK(both::mixed(1.0) == doctest::Approx(2.718281828459045 + 1.4142135623730951 + 1 + 2 + 1 + 0 + 2 + 5 + 1));
}
