// SPDX-License-Identifier: BSL-1.0
// The ops on addresses: how they are differentiated, and that no tensor can be given to them. Their values have no
// meaning on the processor; tests/tensor/cuda_indexing.test.cpp has those.
#include <kiln/ops/take.hpp>

#include "battery.hpp"

#include <kiln/tape/gradient.hpp>

using namespace battery;

TEST_CASE("take: the gradient goes to the element, none to the index") {
  REQUIRE(is_tested<checked_index_op>);
  REQUIRE(is_tested<take_op>);
  program value, back;
  const int index = value.push({.code = opcode::leaf, .type = dtype::int64, .slot = 0});
  const int size = value.push({.code = opcode::scalar, .type = dtype::int64, .slot = 0});
  const symbol checked = apply<checked_index_op>(symbol{&value, index}, symbol{&value, size});
  const int address = value.push({.code = opcode::leaf,
                                  .type = dtype::float32,
                                  .slot = 1,
                                  .literal = static_cast<std::uint64_t>(leaf_kind::address)});
  const int taken = value.push({.code = opcode_of("take"),
                                .type = dtype::float32,
                                .a = static_cast<std::int16_t>(checked.id),
                                .b = static_cast<std::int16_t>(address)});
  const symbol twice = symbol{&value, taken} * 2.0f;
  value.add_result(twice.id);
  gradient(value, back, op_rules_table, 2, dtype::float32);
  CHECK(back.results[0] == -1);
  REQUIRE(back.results[1] >= 0);
  // 2 g, of the gradient that arrives: nothing of the element or the index is read.
  for (int i = 0; i < back.size(); ++i)
    if (back[i].code == opcode::leaf) CHECK(back[i].slot == 2);
}

TEST_CASE("take: tensors are not accepted") {
  for (const dtype type : {dtype::float32, dtype::int64, dtype::boolean}) {
    CHECK(!take_op::accepts(type));
    CHECK(!checked_index_op::accepts(type));
  }
}
