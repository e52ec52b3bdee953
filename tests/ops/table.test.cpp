// SPDX-License-Identifier: BSL-1.0
// Op records as data.
#include <kiln/ops/all.hpp>
#include <kiln/ops/table.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace kiln;

static_assert(std::is_same_v<op_with_code<all_ops, opcode_of("tanh")>, tanh_op>);
static_assert(std::is_same_v<op_with_code<all_ops, opcode_of("sum")>, sum_op>);

TEST_CASE("op table: finds every record by its code, and nothing else") {
  const rule_table& table = op_rules_table;
  CHECK(table.find(opcode_of("softmax"))->name == "softmax");
  CHECK(table.find(opcode_of("softmax"))->composite);
  CHECK_FALSE(table.find(opcode_of("softmax"))->reduces);
  CHECK(table.find(opcode_of("logsumexp"))->reduces);
  CHECK(table.find(opcode_of("mul"))->infix == "*");
  CHECK(table.find(opcode_of("where"))->arity == 3);
  CHECK_FALSE(table.find(opcode_of("no such op")));
  CHECK_FALSE(table.find(opcode::leaf));
  CHECK_FALSE(table.find(opcode::constant));
  CHECK(table.index(opcode_of("no such op")) == -1);
}

TEST_CASE("op table: rules are there exactly where the record has them") {
  const rule_table& table = op_rules_table;
  CHECK(static_cast<bool>(table.find(opcode_of("tanh"))->differentiate));
  CHECK_FALSE(static_cast<bool>(table.find(opcode_of("tanh"))->expand));
  CHECK(static_cast<bool>(table.find(opcode_of("silu"))->expand));
  CHECK_FALSE(static_cast<bool>(table.find(opcode_of("silu"))->differentiate));
  CHECK(static_cast<bool>(table.find(opcode_of("relu"))->differentiate));
  CHECK_FALSE(
      static_cast<bool>(table.find(opcode_of("cast"))->differentiate));  // the gradient pass knows casts by itself
  CHECK(table.add == opcode_of("add"));
  CHECK(table.sum == opcode_of("sum"));
}

TEST_CASE("op table: the type rules can be asked at run time") {
  const rule_table& table = op_rules_table;
  CHECK((table.find(opcode_of("exp"))->common(dtype::int16) == dtype::float32));
  CHECK((table.find(opcode_of("exp"))->common(dtype::float64) == dtype::float64));
  CHECK((table.find(opcode_of("sum"))->common(dtype::boolean) == dtype::int64));
  CHECK((table.find(opcode_of("lt"))->result(dtype::float64) == dtype::boolean));
  CHECK((table.find(opcode_of("add"))->result(dtype::int8) == dtype::int8));
  CHECK(table.find(opcode_of("bitwise_and"))->accepts(dtype::int8));
  CHECK_FALSE(table.find(opcode_of("bitwise_and"))->accepts(dtype::float32));
  for (int i = 0; i < all_ops::size; ++i) {
    const op_rules& r = table.rules[i];
    CHECK(static_cast<bool>(r.common && r.result && r.accepts));
  }
}
