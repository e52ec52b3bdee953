// SPDX-License-Identifier: BSL-1.0
// Tapes of a single op, and the maps that are printed from them, for the tests that go over the list of all ops.
#pragma once

#include <kiln/device/cuda/print/print_map.hpp>
#include <kiln/tape/expand.hpp>
#include <kiln/tape/gradient.hpp>

#include <array>
#include <string>
#include <vector>

namespace one_op {

using namespace kiln;

/// The ops of the list that work element by element.
inline std::vector<const op_rules*> elementwise_ops() {
  std::vector<const op_rules*> out;
  for (const op_rules& op : op_table<all_ops>::rules) {
    bool over_rows = op.reduces;
    if (op.composite) {  // softmax and its like
      program p, flat;
      symbol x[3];
      for (std::int16_t k = 0; k < 3; ++k) x[k] = {&p, p.push({.code = opcode::leaf, .slot = k})};
      p.add_result(op.expand(x[0], x[1], x[2]).id);
      expand(p, flat, op_rules_table, false);
      for (int i = 0; i < flat.size(); ++i)
        if (const found_rules f = op_rules_table.find(flat[i].code)) over_rows |= f->reduces;
    }
    if (!over_rows && op.name != "cast") out.push_back(&op);
  }
  return out;
}

template <class... Ops>
bool takes(op_list<Ops...>, opcode code, dtype type) {
  auto one = [&]<class Op>(std::type_identity<Op>) {
    if constexpr (requires { Op::accepts(type); })
      return opcode_of(Op::name) == code && Op::accepts(compute_type(type)) &&
             Op::common(compute_type(type)) == compute_type(type);
    return false;
  };
  return (one(std::type_identity<Ops>{}) || ...);
}
template <class... Ops>
dtype result_of(op_list<Ops...>, opcode code, dtype type) {
  dtype out = type;
  auto one = [&]<class Op>(std::type_identity<Op>) {
    if (opcode_of(Op::name) == code) out = Op::result(type);
  };
  (one(std::type_identity<Ops>{}), ...);
  return out;
}

/// Writes `op` of leaves x0, x1, x2 of this type; of `where` the first is bool.
inline void write(const op_rules& op, dtype type, program& out) {
  std::array<std::int16_t, 3> x{-1, -1, -1};
  for (std::int16_t k = 0; k < op.arity; ++k)
    x[static_cast<std::size_t>(k)] = static_cast<std::int16_t>(
        out.push({.code = opcode::leaf, .type = op.name == "where" && k == 0 ? dtype::boolean : type, .slot = k}));
  out.add_result(out.push(
      {.code = op.code, .type = result_of(all_ops{}, op.code, compute_type(type)), .a = x[0], .b = x[1], .c = x[2]}));
}
inline void value_tape(const op_rules& op, dtype type, program& out) {
  program written, flat;
  write(op, type, written);
  expand(written, flat, op_rules_table, false);
  keep_needed(flat, out);
}
inline void gradient_tape(const op_rules& op, dtype type, program& out) {
  program written, kept;
  write(op, type, written);
  expand(written, kept, op_rules_table, true);
  gradient(kept, out, op_rules_table, op.arity, compute_type(type));
}

/// A kernel over `n` contiguous elements, its results stored in the type of the operands (or bool).
struct kernel {
  const op_rules* op = nullptr;
  dtype type = dtype::float32;
  program tape;
  cuda::source printed;
};
inline cuda::task contiguous(const program& tape, std::int64_t n) {
  cuda::task job = cuda::task_for({&tape[0], tape.size(), tape.results, tape.result_count}, {n});
  for (auto& x : job.leaves) x.strides = {1};
  for (std::size_t r = 0; r < job.results.size(); ++r) job.results[r].strides = {1};
  return job;
}

}  // namespace one_op
