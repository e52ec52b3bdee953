// SPDX-License-Identifier: BSL-1.0
// Over the list of all ops: each is put through the battery by some test of this program, computes on every element
// type that it accepts, and has a gradient where it gives floating values.
#include "battery.hpp"

#include <kiln/expr/reductions.hpp>

using namespace battery;

namespace {

template <class F, class... Ops>
void each_op(op_list<Ops...>, F f) {
  (f(std::type_identity<Ops>{}), ...);
}

template <class Op, class T>
auto applied(const Tensor<T>& x) {
  if constexpr (Op::arity == 1)
    return apply<Op>(x);
  else if constexpr (Op::arity == 2)
    return apply<Op>(x, x);
  else
    return apply<Op>(x, x, x);
}

// Ops over rows take axes, and are called through functions of their own; where takes a condition.
template <class Op>
constexpr bool over_rows = requires {
  Op::has_identity;
};

template <class T>
void check_element_type() {
  each_op(all_ops{}, []<class Op>(std::type_identity<Op>) {
    // An op that converts its operands to float32 first meets nothing new in an integer.
    if constexpr (!over_rows<Op> && Op::accepts(dtype_of<T>) && Op::common(dtype_of<T>) == dtype_of<T> &&
                  !std::is_same_v<Op, cast_op>) {
      const Tensor<T> x{T(1), T(1), T(1)};  // named: what clang++ 14 takes for sizes otherwise
      const auto y = evaluated(applied<Op>(x));
      CHECK_MESSAGE(y.numel() == 3, Op::name);
      CHECK_MESSAGE(y.dtype() == (std::is_same_v<Op, where_op> ? dtype_of<T> : Op::result(Op::common(dtype_of<T>))),
                    Op::name);
    }
  });
}

}  // namespace

TEST_CASE("every op: some test has an oracle for it") {
  std::set<std::string_view> missing, unknown = tested_ops();
  each_op(all_ops{}, [&]<class Op>(std::type_identity<Op>) {
    if (tested_ops().count(Op::name) == 0) missing.insert(Op::name);
    unknown.erase(Op::name);
  });
  for (std::string_view name : missing)
    FAIL_CHECK(name, " is in ops/all.hpp but no test calls check_unary, check_binary ... for it");
  for (std::string_view name : unknown) FAIL_CHECK(name, " is tested but is not in ops/all.hpp");
}

TEST_CASE("every op: no two have the same name or code") {
  std::set<std::string_view> names;
  std::set<opcode> codes;
  each_op(all_ops{}, [&]<class Op>(std::type_identity<Op>) {
    CHECK_MESSAGE(names.insert(Op::name).second, Op::name);
    CHECK_MESSAGE(codes.insert(opcode_of(Op::name)).second, Op::name);
  });
}

TEST_CASE("every op: computes on bool where it accepts it") {
  check_element_type<bool>();
}
TEST_CASE("every op: computes on uint8 where it accepts it") {
  check_element_type<std::uint8_t>();
}
TEST_CASE("every op: computes on int64 where it accepts it") {
  check_element_type<std::int64_t>();
}

TEST_CASE("every op: gives floating values only with a derivative rule, its own or that of its parts") {
  each_op(all_ops{}, []<class Op>(std::type_identity<Op>) {
    const found_rules rules = op_rules_table.find(opcode_of(Op::name));
    REQUIRE(static_cast<bool>(rules));
    CHECK(rules->name == Op::name);
    CHECK_MESSAGE((rules->differentiable || rules->composite || std::is_same_v<Op, cast_op>), Op::name);
  });
}
