// SPDX-License-Identifier: BSL-1.0
// The short way of a small program over contiguous operands: most of what a small step does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <kiln/device/common/task.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/expression_facts.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// Runs a program over `total` elements of `out`, of the type that it stores, or adds to them: if every leaf and the
/// result are contiguous and of one shape (or the leaf is a single number). Then one call of the kernel does it all,
/// and nothing needs planning. Else false, and nothing is done.
inline bool run_at_once(const runnable& f, int leaves, const operands& c, const tensor_state& out, std::int64_t total,
                        bool add) {
  if (!f.device->on_host) return false;
  const cpu::compiled& program = static_cast<const cpu::compiled&>(f.program());
  if (!program.map || total * program.cost > cpu::work_per_thread || total == 0 || program.draw_count) return false;
  std::array<const void*, common::max_slots> in;
  std::array<std::int64_t, common::max_slots> step;
  for (int i = 0; i < leaves; ++i) {
    const std::size_t k = static_cast<std::size_t>(i);
    const tensor_state& leaf = *c.leaf[i];
    in[k] = leaf.data;
    if (leaf.sizes.rank() == 0)
      step[k] = 0;
    else if (leaf.contiguous && leaf.sizes == out.sizes)
      step[k] = 1;
    else
      return false;
  }
  if (!out.contiguous) return false;
  void* to = out.data;
  program.map({.in = in.data(),
               .step = step.data(),
               .out = &to,
               .add = &add,
               .scalars = c.number,
               .count = total,
               .program = &program});
  return true;
}

}  // namespace kiln::detail
