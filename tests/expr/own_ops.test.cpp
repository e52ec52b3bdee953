// SPDX-License-Identifier: BSL-1.0
// Ops that a program brings itself: found in expressions, computed, differentiated, printed.
#include <kiln/expr/own_ops.hpp>

#include <kiln/autograd/check_gradient.hpp>
#include <kiln/expr/formula.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace kiln;

namespace {

struct cube_op final : arithmetic<1> {
  static constexpr std::string_view name = "cube";
  static constexpr bool composite = true;
  static constexpr auto value(auto x) { return x * x * x; }
};
struct bent_op final : floating<2> {
  static constexpr std::string_view name = "bent";
  static constexpr bool composite = true;
  static constexpr auto value(auto x, auto p) { return where(x > 0, x, p * x); }
  // Wrong on purpose, to see that it is this rule that is used.
  static constexpr auto adjoint(auto g, auto, auto, auto) { return adjoints{7 * g, no_gradient{}}; }
};
template <Operand X>
constexpr auto cube(X x) {
  return apply<cube_op>(std::move(x));
}
template <Operand X>
constexpr auto bent(X x, double p) {
  return apply<bent_op>(std::move(x), p);
}

// Called as an op of the library, and as each other.
namespace mine {
struct softsign_op : floating<1> {
  static constexpr std::string_view name = "softsign";
  static constexpr bool composite = true;
  static constexpr auto value(auto x) { return 2 * x; }
};
}  // namespace mine
namespace one {
struct twist_op : arithmetic<1> {
  static constexpr std::string_view name = "twist";
  static constexpr bool composite = true;
  static constexpr auto value(auto x) { return x + 1; }
};
}  // namespace one
namespace two {
struct twist_op : arithmetic<1> {
  static constexpr std::string_view name = "twist";
  static constexpr bool composite = true;
  static constexpr auto value(auto x) { return 10 * x; }
};
}  // namespace two
// Inherits a name, too.
struct leaning_op : kiln::relu_op {
  static constexpr auto value(auto x) { return 3 * x; }
  static constexpr auto adjoint(auto g, auto, auto) { return 3 * g; }
};

const Tensor<double> x{-1.5, 0.5, 2.0};

}  // namespace

TEST_CASE("own ops: compute, beside the library's and each other") {
  const Tensor<double> y = cube(x) + tanh(bent(x, 0.5));
  for (int i = 0; i < 3; ++i)
    CHECK(y(i) == doctest::Approx(x(i) * x(i) * x(i) + std::tanh(x(i) > 0 ? x(i) : 0.5 * x(i))).epsilon(1e-14));
  CHECK(Tensor<int>(cube(Tensor<int>{-3}))(0) == -27);
}

TEST_CASE("own ops: are differentiated through their value rule, or by their own rule") {
  const auto check = check_gradient([](auto v) { return exp(cube(v) * 0.1); }, x);
  CHECK_MESSAGE(check.agrees, check.text);
  const auto wrong = check_gradient([](auto v) { return bent(v, 0.5); }, x);
  CHECK_FALSE(wrong.agrees);
  CHECK(wrong.backward == doctest::Approx(7 * 0.5));  // the first weight of check_gradient is 0.5
}

TEST_CASE("own ops: are printed by their name, and what they are made of") {
  CHECK(formula(relu(cube(x)) + bent(x, 0.5)) == "relu(cube(x0)) + bent(x0, 0.5)");
  CHECK(tape_listing(cube(x)) ==
        "%0 = leaf float64 x0\n"
        "%1 = mul float64 %0 %0\n"
        "%2 = mul float64 %1 %0\n"
        "result %2\n");
}

TEST_CASE("own ops: the list is that of the expression, without repetition") {
  using E = std::remove_const_t<decltype(cube(x) + cube(bent(x, 0.5)))>;
  static_assert(std::is_same_v<detail::own_ops<E>::type, op_list<cube_op, bent_op>> ||
                std::is_same_v<detail::own_ops<E>::type, op_list<bent_op, cube_op>>);
  static_assert(std::is_same_v<detail::own_ops<decltype(exp(x))>::type, op_list<>>);
  CHECK(rules_for<E>.index(opcode_of("cube")) >= 0);
  CHECK(op_rules_table.index(opcode_of("cube")) == -1);
}

TEST_CASE("own ops: are what their type is, whatever they are called") {
  const Tensor<double> y = apply<mine::softsign_op>(x);
  const Tensor<double> both = apply<mine::softsign_op>(x) + softsign(x);
  const Tensor<double> twists = apply<one::twist_op>(x) * apply<two::twist_op>(x);
  const Tensor<double> leant = apply<leaning_op>(x) + relu(x);
  for (int i = 0; i < 3; ++i) {
    const double v = x(i);
    CHECK(y(i) == 2 * v);
    CHECK(both(i) == doctest::Approx(2 * v + v / (1 + std::abs(v))).epsilon(1e-14));
    CHECK(twists(i) == (v + 1) * (10 * v));
    CHECK(leant(i) == 3 * v + std::max(v, 0.0));
  }
  const auto check = check_gradient(
      [](auto v) { return apply<one::twist_op>(v) * apply<two::twist_op>(v) * apply<mine::softsign_op>(v); }, x);
  CHECK_MESSAGE(check.agrees, check.text);
}
