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

/// One call of a kernel over `total` elements, if what it reads lies so: contiguous and as many, or one value for all.
class call_at_once {
 public:
  explicit call_at_once(std::int64_t total) : total_(total) {}
  /// Of an operand that broadcasts to the domain: as many elements then mean the same shape, but for leading ones.
  bool reads(int slot, const void* data, const dims& sizes, bool contiguous) {
    const std::size_t k = static_cast<std::size_t>(slot);
    const std::int64_t elements = product(sizes);
    in_[k] = data;
    step_[k] = elements == total_;
    return contiguous && (elements == total_ || elements == 1);
  }
  bool reads_leaves(const operands& c, int leaves) {
    for (int i = 0; i < leaves; ++i)
      if (const tensor_state& leaf = *c.leaf[i]; !reads(i, leaf.data, leaf.sizes, leaf.contiguous)) return false;
    return true;
  }
  bool writes(const tensor_state& result) const { return result.contiguous && product(result.sizes) == total_; }
  cpu::strip strip(const cpu::compiled& program, const std::uint64_t* numbers) const {
    return {.in = in_.data(), .step = step_.data(), .scalars = numbers, .count = total_, .program = &program};
  }

 private:
  // Of sizes of a tensor that is there: their product fits.
  [[gnu::noinline]] static std::int64_t product(const dims& sizes) {
    std::int64_t n = 1;
    for (const std::int64_t size : sizes) n *= size;
    return n;
  }
  const std::int64_t total_;
  std::array<const void*, common::max_slots> in_;
  std::array<std::int64_t, common::max_slots> step_;
};

/// Whether a program takes so little time that one thread does it, in one call if the operands lie so.
inline bool runs_at_once(const cpu::compiled& program, std::int64_t total) {
  return total != 0 && total * program.cost <= cpu::work_per_thread && !program.draw_count;
}

/// Runs a program over `total` elements of `out`, of the type that it stores, or adds to them: if every leaf and the
/// result are contiguous and of one shape (or the leaf is a single value). Then one call of the kernel does it all,
/// and nothing needs planning. Else false, and nothing is done.
inline bool run_at_once(const runnable& f, int leaves, const operands& c, const tensor_state& out, std::int64_t total,
                        bool add) {
  if (!f.device->on_host) return false;
  const cpu::compiled& program = static_cast<const cpu::compiled&>(f.program());
  if (!program.map || !runs_at_once(program, total)) return false;
  call_at_once call(total);
  if (!call.reads_leaves(c, leaves) || !call.writes(out)) return false;
  void* to = out.data;
  cpu::strip s = call.strip(program, c.number);
  s.out = &to;
  s.add = &add;
  program.map(s);
  return true;
}

}  // namespace kiln::detail
