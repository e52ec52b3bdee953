// SPDX-License-Identifier: BSL-1.0
// Tables with the rules of some ops: what is there, what a pass says that is missing, and that no tape needs more than
// was found for it.
#include <kiln/ops/all.hpp>
#include <kiln/ops/table_with.hpp>
#include <kiln/tape/gradient.hpp>
#include <kiln/tape/infix.hpp>

#include <doctest/doctest.h>

#include "../tape/sheet.hpp"

using namespace kiln;

namespace {

template <class... Ops>
constexpr op_set set_of = (op_set::of(op_facts_table.index(code_of<Ops>)) | ...);

template <op_set Written>
constexpr op_set for_gradients = detail::needed_rules<all_ops, Written, true>();

/// What x * Op(x) and its gradient are written out to.
template <class Op>
void check_tapes(dtype type) {
  constexpr op_set written = set_of<Op, mul_op>;
  const rule_table& all = op_rules_table;
  const rule_table& values = op_table_with<all_ops, detail::needed_rules<all_ops, written, false>()>::table;
  const rule_table& gradients = op_table_with<all_ops, for_gradients<written>>::table;
  sheet s;
  const symbol x = s.leaf(0, type);
  if constexpr (Op::arity == 1)
    s.result(x * apply<Op>(x));
  else
    s.result(x * apply<Op>(x, s.leaf(1, type)));
  program flat, flat_of_all, kept, out, out_of_all;
  expand(s.p, flat, values, false);
  expand(s.p, flat_of_all, all, false);
  CHECK(listing(view_of(flat), all) == listing(view_of(flat_of_all), all));
  expand(s.p, kept, gradients, true);
  gradient(kept, out, gradients, Op::arity, type);
  gradient(kept, out_of_all, all, Op::arity, type);
  CHECK(listing(view_of(out), all) == listing(view_of(out_of_all), all));
}

}  // namespace

TEST_CASE("op table with some rules: has these, and the facts of all ops") {
  const rule_table& table = op_table_with<all_ops, set_of<tanh_op, silu_op>>::table;
  CHECK(static_cast<bool>(table.find(opcode_of("tanh"))->differentiate));
  CHECK(static_cast<bool>(table.find(opcode_of("silu"))->expand));
  CHECK(table.find(opcode_of("relu"))->name == "relu");
  CHECK(table.find(opcode_of("relu"))->differentiable);
  CHECK_FALSE(table.find(opcode_of("relu"))->ready);
}

TEST_CASE("op table with some rules: a pass says which it lacks") {
  sheet s;
  const symbol x = s.leaf(0);
  s.result(silu(x) + relu(x) * exp(x));
  rule_table ops = op_table_with<all_ops, op_set{}>::table;
  program out;
  CHECK_THROWS_WITH_AS(expand(s.p, out, ops, false),
                       "a pass needs the rules of an op of which this table has the facts alone", value_error);
  op_set missing;
  ops.missing = &missing;
  program again;
  expand(s.p, again, ops, false);
  CHECK((missing == set_of<silu_op, relu_op>));
}

TEST_CASE("op table with some rules: those that a tape needs are found, and few others") {
  static_assert(for_gradients<set_of<mul_op>> == set_of<mul_op>);
  static_assert(detail::needed_rules<all_ops, set_of<mul_op, tanh_op>, false>() == op_set{});
  static_assert((for_gradients<set_of<add_op, exp_op>> & set_of<sin_op, softmax_op, pow_op>) == op_set{});
  for (const dtype type : {dtype::float32, dtype::float64}) {
    check_tapes<relu_op>(type);
    check_tapes<silu_op>(type);
    check_tapes<gelu_op>(type);
    check_tapes<mish_op>(type);
    check_tapes<pow_op>(type);
    check_tapes<atan_op>(type);
    check_tapes<acosh_op>(type);
    check_tapes<softmax_op>(type);
    check_tapes<logsumexp_op>(type);
  }
}
