// SPDX-License-Identifier: BSL-1.0
// Any layout with few kernels: one per tape that assumes nothing of strides, alignment or size, and copies and sums
// that all tapes share. Slower than what `schedule` finds, but all of it can be compiled before the layouts are known:
// what a bundle falls back to. `schedule_general` is the entry.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/launch.hpp>
#include <kiln/device/cuda/plan/schedule_parts.hpp>

namespace kiln::cuda {

namespace detail {

class general_scheduler {
 public:
  general_scheduler(const device_shape& device, const scratch_memory& memory) : device_(device), memory_(memory) {}

  void add(task job) {
    if (elements_of(job.domain) == 0 && !reduces_nothing(job)) return;
    order_axes(job);
    std::vector<copy> after;
    task direct = with_results(job, false, after);
    if (fits(direct, axes_of_tape)) {
      push(std::move(direct), axes_of_tape, {});
    } else {
      if (any_virtual(job))  // what is drawn or taken cannot be packed
        throw device_error(message("the general kernel of a bundle walks along ", axes_of_tape, " axes, and an ",
                                   "expression over ", job.domain, " that draws or gathers has more that do not join: ",
                                   "make its operands contiguous, or evaluate a part of it into a Tensor first"));
      task packed = with_results(job, true, after);
      pack_leaves(packed);
      push(std::move(packed), axes_of_tape, {});
    }
    for (const copy& each : after) bring(each);
  }
  /// Values in memory, and the result that they belong to.
  struct copy {
    leaf_view from;
    result_view to;
    dims domain;
  };
  /// Writes values to their result, or adds them, or sums them where it has no stride.
  void bring(const copy& what) {
    std::uint32_t summed_axes = 0;
    for (int i = 0; i < what.domain.rank(); ++i)
      if (what.to.strides[i] == 0 && what.domain[i] > 1) summed_axes |= 1u << i;
    if (summed_axes == 0) return push_copy(what);
    const auto tape = sum_of_leaf(what.from.type);
    task job = task_for(view_of(*tape), what.domain);
    job.leaves[0] = what.from;
    job.results[0] = what.to;
    job.reduced_axes = summed_axes;
    job.reduction_rooted = true;
    order_axes(job);
    if (!fits(job, axes_of_copy)) job.leaves[0] = packed(job.leaves[0], job.domain, packed_strides(job.domain));
    push(std::move(job), axes_of_copy, tape);
  }
  std::vector<launch> launches;

 private:
  /// Axes that the kernel of a tape walks along, and those of copies: as many as there can be.
  static constexpr int axes_of_tape = 4, axes_of_copy = max_rank;

  void* workspace(std::int64_t values, dtype type) {
    return memory_(static_cast<std::size_t>(std::max<std::int64_t>(values, 1)) * size_of(type));
  }

  // The kernel of a tape delivers every result in the type it is computed in, wanted or not, so that one text is enough
  // for all. What is to be rounded, added or summed, and with `packed` everything, goes to scratch memory first.
  task with_results(task job, bool packed, std::vector<copy>& after) {
    after.clear();
    const std::uint32_t left_out = job.reduction_rooted ? job.reduced_axes : 0;
    for (std::size_t r = 0; r < job.results.size(); ++r) {
      if (job.tape.results[r] < 0) continue;
      result_view& y = job.results[r];
      const dtype type = compute_type(job.tape[job.tape.results[r]].type);
      const bool narrow = !job.reduction_rooted && is_narrow(job, y);
      if (y.data && !packed && y.type == type && !y.add && !narrow) continue;
      if (!y.data) {  // all values of one that nobody wants go to one place
        y = {workspace(1, type), dims::filled(job.domain.rank(), 0), type, false};
        continue;
      }
      std::int64_t values = 1;
      for (int i = 0; i < job.domain.rank(); ++i)
        if (!(left_out >> i & 1)) values *= job.domain[i];
      copy later{{workspace(values, type), packed_strides(job.domain, left_out), type, true}, y, job.domain};
      for (int i = job.domain.rank() - 1; i >= 0; --i) {
        if (!(left_out >> i & 1)) continue;
        later.domain.erase(i), later.from.strides.erase(i), later.to.strides.erase(i);
      }
      y = {const_cast<void*>(later.from.data), packed_strides(job.domain, left_out), type, false};
      after.push_back(std::move(later));
    }
    return job;
  }

  // Whether a task has no more axes than a kernel walks along, one of them the row. A row program without a row axis
  // takes one for it.
  static bool fits(task job, int axes) {
    collapse(job);
    const int row_axes = std::popcount(job.reduced_axes);
    const bool of_rows = count_reductions(job.tape) > 0;
    return row_axes <= 1 && job.domain.rank() + (of_rows && row_axes == 0 ? 1 : 0) <= axes;
  }

  void pack_leaves(task& job) {
    for (leaf_view& x : job.leaves) {
      if (!x.used || x.strides == dims::filled(job.domain.rank(), 0)) continue;
      x = packed(x, job.domain, packed_strides(job.domain));
    }
  }
  leaf_view packed(const leaf_view& x, const dims& domain, const dims& strides) {
    void* const place = workspace(elements_of(domain), x.type);
    if (elements_of(domain) > 0) push_copy({x, {place, strides, x.type, false}, domain});
    return {place, strides, x.type, true};
  }

  void push_copy(const copy& what) {
    const auto tape = copy_of_leaf(what.from.type);
    task job = task_for(view_of(*tape), what.domain);
    job.leaves[0] = what.from;
    job.results[0] = what.to;
    push(std::move(job), axes_of_copy, tape);
  }

  // The plan says the same of every layout: a stride for each operand along each of `axes` axes, 64 bits, nothing
  // apart.
  void push(task job, int axes, std::shared_ptr<const program> tape) {
    collapse(job);
    const bool rows = count_reductions(job.tape) > 0;
    if (rows && job.reduced_axes == 0) {
      each_operand(job, [](dims& strides) { strides.push_back(0); });
      job.domain.push_back(1);
    }
    while (job.domain.rank() < axes) {
      each_operand(job, [](dims& strides) { strides.insert(0, 0); });
      job.domain.insert(0, 1);
    }
    job.reduced_axes = rows ? 1u << (axes - 1) : 0;
    plan p{.shape = rows ? kernel_shape::long_rows : kernel_shape::map, .rank = axes, .row_axes = rows ? 1 : 0};
    p.wide = true;
    p.apart = false;
    p.threads = rows ? 512 : 256;
    p.reduction_rooted = rows && job.reduction_rooted;
    const operand_plan anywhere{access::strided, static_cast<std::uint8_t>((1u << (axes - 1)) - 1)};
    for (std::size_t k = 0; k < job.leaves.size(); ++k) {
      p.leaves.push_back(job.leaves[k].used ? anywhere : operand_plan{});
      p.same_as.push_back(static_cast<std::int16_t>(k));
    }
    for (const result_view& y : job.results) {
      p.results.push_back(y.data ? anywhere : operand_plan{});
      p.stores.push_back(y.type);
      p.adds.push_back(y.data && y.add);
      if (rows) p.sums.push_back(summed::nothing);
    }
    launch next{.job = std::move(job), .how = std::move(p)};
    next.blocks = blocks_for(next.how, next.job, device_.resident(next.how));
    next.tape = std::move(tape);
    launches.push_back(std::move(next));
  }

  const device_shape& device_;
  const scratch_memory& memory_;
};

}  // namespace detail

/// The kernels that do what `job` asks, as `schedule` says it, whose texts depend on the tape and on the types of the
/// results, and on nothing else.
std::vector<launch> schedule_general(const task& job, const device_shape& device, const scratch_memory& memory);

/// The kernels that `schedule_general` brings values with, from `from` to `to` over a domain.
std::vector<launch> schedule_copy(const leaf_view& from, const result_view& to, const dims& domain,
                                  const device_shape& device, const scratch_memory& memory);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/schedule_general_impl.hpp>
#endif
