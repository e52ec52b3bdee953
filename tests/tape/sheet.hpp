// SPDX-License-Identifier: BSL-1.0
// A tape to write on, for tests of the passes, and its listing as one string.
#pragma once

#include <kiln/ops/all.hpp>
#include <kiln/tape/infix.hpp>

#include <string>

struct sheet {
  kiln::program p;

  kiln::symbol leaf(int slot, kiln::dtype type = kiln::dtype::float32, bool per_row = false) {
    return {&p, p.push({.code = kiln::opcode::leaf,
                        .type = type,
                        .slot = static_cast<std::int16_t>(slot),
                        .literal = per_row ? 1u : 0u})};
  }
  kiln::symbol number(int slot, kiln::dtype type = kiln::dtype::float32) {
    return {&p, p.push({.code = kiln::opcode::scalar, .type = type, .slot = static_cast<std::int16_t>(slot)})};
  }
  void result(kiln::symbol x) { p.add_result(x.id); }
};

inline kiln::tape_view view_of(const kiln::program& p) {
  return {&p[0], p.size(), p.results, p.result_count};
}
inline std::string text_of(const kiln::program& p) {
  return kiln::listing(view_of(p), kiln::op_rules_table);
}
inline std::string formula_of(const kiln::program& p) {
  return kiln::infix(view_of(p), kiln::op_rules_table);
}
