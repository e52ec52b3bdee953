// SPDX-License-Identifier: BSL-1.0
// What a tape with reductions computes how often: once (a number), once per row, or once per element; and in which
// pass over the row each value can be had, a reduction being ready one pass after its operand.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/tape/program.hpp>
#include <kiln/tape/rules.hpp>

namespace kiln {

enum class level : std::int8_t { number, row, element };

/// The level of `now`, given the levels of everything before it.
constexpr level level_of(const instruction& now, const level* before, const rule_table& ops) {
  if (now.code == opcode::constant || now.code == opcode::scalar) return level::number;
  if (now.code == opcode::leaf) return kind_of(now) == leaf_kind::row ? level::row : level::element;
  const found_rules op = ops.find(now.code);
  if (op && op->reduces) return level::row;
  level highest = level::number;
  if (now.a >= 0) highest = std::max(highest, before[now.a]);
  if (now.b >= 0) highest = std::max(highest, before[now.b]);
  if (now.c >= 0) highest = std::max(highest, before[now.c]);
  return highest;
}

/// Number of reductions on the longest way from a leaf to `now`, itself included.
constexpr int phase_of(const instruction& now, const std::int16_t* before, const rule_table& ops) {
  int phase = 0;
  if (now.a >= 0) phase = std::max<int>(phase, before[now.a]);
  if (now.b >= 0) phase = std::max<int>(phase, before[now.b]);
  if (now.c >= 0) phase = std::max<int>(phase, before[now.c]);
  const found_rules op = ops.find(now.code);
  return phase + (op && op->reduces ? 1 : 0);
}

}  // namespace kiln
