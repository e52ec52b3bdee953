// SPDX-License-Identifier: BSL-1.0
// A program as every device sees it: its tape, how its results are stored, and what can be counted on the tape. What a
// device makes of it (kernels, texts) is the device's own.
#pragma once

#include <algorithm>

#include <kiln/core/dtype.hpp>
#include <kiln/tape/program.hpp>
#include <kiln/tape/rules.hpp>

namespace kiln::common {

/// More leaves than this in one kernel would not fit the registers anyway.
inline constexpr int max_slots = 64;

struct program_view {
  tape_view tape = {};
  int slots = 0, results = 0, reductions = 0;
  bool reduction_rooted = false;  ///< the results are one value per row
  const dtype* stores = nullptr;  ///< per result: the type it is stored as
};

/// The view of a tape, counted with the rules of its ops.
constexpr program_view view_of(const tape_view& tape, const dtype* stores, bool reduction_rooted,
                               const rule_table& ops) {
  program_view p{.tape = tape, .results = tape.result_count, .reduction_rooted = reduction_rooted, .stores = stores};
  for (int i = 0; i < tape.size; ++i) {
    if (tape[i].code == opcode::leaf) p.slots = std::max(p.slots, tape[i].slot + 1);
    const found_rules op = ops.find(tape[i].code);
    p.reductions += op && op->reduces;
  }
  return p;
}

}  // namespace kiln::common
