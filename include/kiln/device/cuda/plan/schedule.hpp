// SPDX-License-Identifier: BSL-1.0
// Cuts a task into kernels: one, wherever it can be; reductions down tall columns or over few long rows take a second
// one that folds what blocks have left, sums that no kernel has room for one that writes them out. `schedule` is the
// entry.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/launch.hpp>
#include <kiln/device/cuda/plan/schedule_parts.hpp>
#include <kiln/device/cuda/plan/specialise_columns.hpp>
#include <kiln/device/cuda/plan/specialise_reduce.hpp>
#include <kiln/device/cuda/plan/specialise_rows.hpp>
#include <kiln/device/cuda/plan/specialise_transpose.hpp>

namespace kiln::cuda {

namespace detail {

class scheduler {
 public:
  scheduler(const device_shape& device, const scratch_memory& memory) : device_(device), memory_(memory) {}

  void add(task job, std::shared_ptr<const program> tape = {}) {
    tape_ = std::move(tape);
    if (elements_of(job.domain) == 0) return add_nothing(std::move(job));
    const bool rows = count_reductions(job.tape) > 0;
    if (rows && !job.reduction_rooted && !rows_can_sum(job)) return add_dense(std::move(job));
    if (!rows && narrow(job)) return rows_can_sum(job) ? add_rows(std::move(job)) : add_dense(std::move(job));
    if (!rows) return add_map(std::move(job));
    task arranged = job;
    order_axes(arranged);
    collapse(arranged);
    const bool joined = std::popcount(arranged.reduced_axes) <= 1;
    if (job.reduction_rooted && one_pass(job.tape) && all_reduced(job) &&
        (elements_of(job.domain) > shortest_to_cut || !joined))
      return add_reduction(std::move(job));
    if (columns_suit(arranged)) return add_columns(std::move(arranged));
    if (joined && few_long_rows(arranged))
      return job.reduction_rooted && one_pass(job.tape) ? add_parts_of_rows(std::move(arranged))
                                                        : add_first_pass(std::move(arranged));
    if (!joined) return add_packed(std::move(job));
    add_rows(std::move(job));
  }
  std::vector<launch> launches;

 private:
  /// One block is enough for fewer elements than these.
  static constexpr std::int64_t shortest_to_cut = 16384;
  /// Rows and parts of rows.
  static constexpr std::int64_t shortest_row_to_cut = 32768, shortest_part = 4096;
  /// Sums for every place of a longer row do not fit the registers.
  static constexpr std::int64_t longest_summed_row = 16384;

  // Rows that would keep less than half of the device busy, one block each, or one cluster.
  bool few_long_rows(const task& job) const {
    if (job.domain.rank() == 0 || !(job.reduced_axes >> (job.domain.rank() - 1) & 1)) return false;
    const std::int64_t rows = elements_of(job.domain) / std::max<std::int64_t>(1, job.domain.back());
    if (job.domain.back() < shortest_row_to_cut || rows * 2 > device_.processors) return false;
    task planned = job;
    return one_pass(job.tape) ||
           rows * plan_rows(planned, device_.shared_bytes, device_.cluster).cluster * 2 <= device_.processors;
  }
  static bool all_reduced(const task& job) { return job.reduced_axes == (1u << job.domain.rank()) - 1; }
  static bool narrow(const task& job) {
    for (const result_view& y : job.results)
      if (is_narrow(job, y)) return true;
    return false;
  }
  // Whether one kernel can hold all sums of a task that is not itself one value per row.
  bool rows_can_sum(task job) const {
    if (!narrow(job)) return true;
    if (count_reductions(job.tape) == 0) set_row(job);
    order_axes(job);
    collapse(job);
    if (job.domain.rank() == 0) return true;
    int row_axes = 0;
    for (int i = 0; i < job.domain.rank(); ++i) row_axes += static_cast<int>(job.reduced_axes >> i & 1);
    if (row_axes != 1) return false;
    for (const result_view& y : job.results) {
      if (!y.data) continue;
      bool fixed = true, moves = true;
      for (int i = 0; i + 1 < job.domain.rank(); ++i) {
        fixed &= y.strides[i] == 0;
        moves &= y.strides[i] != 0;
      }
      if (!fixed && !moves) return false;
    }
    plan p;
    return job.domain.back() <= longest_summed_row && find_row_plan(job, p, device_.shared_bytes, device_.cluster);
  }
  // A map with sums becomes a row program along the axes that the sums do not share with the rest: those along which
  // some result stays, else the last axis.
  static void set_row(task& job) {
    job.reduced_axes = 1u << (job.domain.rank() - 1);
    for (const result_view& y : job.results) {
      if (!is_narrow(job, y)) continue;
      std::uint32_t stays = 0;
      for (int i = job.domain.rank() - 1; i >= 0 && y.strides[i] != 0; --i) stays |= 1u << i;
      if (stays) job.reduced_axes = stays;
    }
  }

  void push(task job, plan how) {
    launch next{.job = std::move(job), .how = std::move(how)};
    next.blocks = blocks_for(next.how, next.job, device_.resident(next.how));
    next.tape = tape_;
    launches.push_back(std::move(next));
  }
  void* workspace(std::int64_t values, dtype type) { return memory_(static_cast<std::size_t>(values) * size_of(type)); }

  // Rows without elements: every reduction is its identity, if it has one.
  void add_nothing(task job) {
    if (!reduces_nothing(job)) return;
    for (int i = job.domain.rank() - 1; i >= 0; --i)  // one empty axis is as good as several
      if ((job.reduced_axes >> i & 1) && job.domain[i] != 0) detail::erase_axis(job, i);
    add_rows(std::move(job));
  }

  void add_map(task job) {
    task arranged = job;
    order_axes(arranged);
    collapse(arranged);
    if (const int axis = axis_to_turn(arranged); axis >= 0) {
      plan turned = plan_transpose(arranged, axis);
      return push(std::move(arranged), std::move(turned));
    }
    plan p = plan_map(job, most_neighbours(job.tape));
    push(std::move(job), std::move(p));
  }

  void add_rows(task job) {
    if (count_reductions(job.tape) == 0) set_row(job);
    plan p = plan_rows(job, device_.shared_bytes, device_.cluster);
    bool leaves_shares = false;
    for (const summed s : p.sums) leaves_shares |= s == summed::across_rows || s == summed::everything;
    push(job, p);
    if (!leaves_shares) return;
    launch& mine = launches.back();
    // A share is a row: no more blocks than run at once.
    if (p.least_blocks > 0)
      mine.blocks = whole_clusters(p, std::min(mine.blocks, std::int64_t{p.least_blocks} * device_.processors));
    const std::int64_t shares = shares_of(p, mine.blocks), length = job.domain.back();
    mine.scratch.assign(job.results.size(), 0);
    std::vector<task> folds;
    std::vector<std::shared_ptr<const program>> tapes;
    for (std::size_t r = 0; r < job.results.size(); ++r) {
      const result_view& y = job.results[r];
      const bool row = p.sums[r] == summed::across_rows;
      if (!row && p.sums[r] != summed::everything) continue;
      const dtype type = compute_type(y.type);
      void* const place = workspace(row ? shares * length : shares, type);
      mine.scratch[r] = reinterpret_cast<std::uintptr_t>(place);
      tapes.push_back(sum_of_leaf(type));
      task fold = task_for(view_of(*tapes.back()), row ? dims{shares, length} : dims{shares});
      fold.reduced_axes = 1;
      fold.reduction_rooted = true;
      fold.leaves[0] = {place, row ? dims{length, 1} : dims{1}, type};
      fold.results[0] = {y.data, row ? dims{0, y.strides.back()} : dims{0}, y.type, y.add};
      folds.push_back(std::move(fold));
    }
    for (std::size_t k = 0; k < folds.size(); ++k) add(std::move(folds[k]), tapes[k]);
  }

  // Each block leaves a value for each reduction; the last one to end folds them and computes what follows.
  void add_reduction(task job) {
    plan p = plan_reduce(job);
    push(std::move(job), std::move(p));
    launch& mine = launches.back();
    mine.scratch = {reinterpret_cast<std::uintptr_t>(memory_(reduce_scratch_bytes(mine.job, mine.blocks)))};
  }

  // One pass over few long rows: each row is cut into parts of equal length and a rest, which leave their reductions; a
  // second kernel folds them and computes what follows.
  void add_parts_of_rows(task job) {
    const int rank = job.domain.rank();
    const std::int64_t length = job.domain.back(), rows = elements_of(job.domain) / length;
    const std::int64_t wanted = (4 * device_.processors + rows - 1) / rows;
    const std::int64_t part = std::max(shortest_part, (length / wanted + 1023) / 1024 * 1024);
    const std::int64_t whole = length / part, rest_length = length - whole * part, parts = whole + (rest_length > 0);
    const auto cut = cut_at_reductions(job);
    const std::shared_ptr<const program> reductions = cut.first, rest = cut.second;
    dims outer = job.domain;
    outer.erase(rank - 1);
    // Places of the parts' reductions: rows, then parts.
    dims all_parts = outer;
    all_parts.push_back(parts);
    const dims packed = packed_strides(all_parts);
    task second = rest_task(job, *rest, all_parts, 1u << (rank - 1));
    const task whole_rows = parts_task(job, *reductions);
    const std::size_t moved = whole_rows.results.size();
    std::vector<void*> places;
    for (std::size_t r = 0; r < moved; ++r) {
      const dtype type = whole_rows.results[r].type;
      places.push_back(workspace(rows * parts, type));
      second.leaves[r] = {places[r], packed, type};
    }
    for (std::size_t k = 0; k < job.leaves.size(); ++k)
      if (moved + k < second.leaves.size() && second.leaves[moved + k].used) {
        second.leaves[moved + k] = job.leaves[k];
        second.leaves[moved + k].strides[rank - 1] = 0;
      }
    second.results = job.results;
    const auto add_part = [&](bool of_rest) {
      task piece = whole_rows;
      piece.domain = outer;
      if (!of_rest) piece.domain.push_back(whole);
      piece.domain.push_back(of_rest ? rest_length : part);
      piece.reduced_axes = 1u << (piece.domain.rank() - 1);
      for (leaf_view& x : piece.leaves) {
        if (!x.used) continue;
        const std::int64_t step = x.strides.back();
        if (of_rest) {
          x.moved += whole * part * step * static_cast<std::int64_t>(size_of(x.type));
          x.data = static_cast<const char*>(x.data) + whole * part * step * static_cast<std::int64_t>(size_of(x.type));
        } else {
          x.strides[rank - 1] = part * step;
          x.strides.push_back(step);
        }
      }
      for (std::size_t r = 0; r < moved; ++r) {
        const dtype type = second.leaves[r].type;
        const std::int64_t offset = of_rest ? whole * static_cast<std::int64_t>(size_of(type)) : 0;
        dims strides = packed;
        strides[rank - 1] = of_rest ? 0 : 1;
        if (!of_rest) strides.push_back(0);
        piece.results[r] = {static_cast<char*>(places[r]) + offset, strides, type, false};
      }
      add(std::move(piece), reductions);
    };
    add_part(false);
    if (rest_length > 0) add_part(true);
    add(std::move(second), rest);
  }

  // Several passes over few long rows: the first one's reductions in kernels of their own, then the rest.
  void add_first_pass(task job) {
    const cut_tape cut = cut_after_first_pass(job.tape);
    const std::int64_t rows = elements_of(job.domain) / job.domain.back();
    const dims packed = packed_strides(job.domain, 1u << (job.domain.rank() - 1));
    task first = parts_task(job, *cut.before), second = task_for(view_of(*cut.after), job.domain);
    first.reduced_axes = job.reduced_axes;
    second.reduced_axes = count_reductions(second.tape) > 0 ? job.reduced_axes : 0;
    second.reduction_rooted = job.reduction_rooted;
    second.numbers = job.numbers;
    const auto moved = static_cast<std::size_t>(cut.values);
    for (std::size_t r = 0; r < moved; ++r) {
      result_view& y = first.results[r];
      y.data = workspace(rows, y.type);
      y.strides = packed;
      if (r < second.leaves.size() && second.leaves[r].used) second.leaves[r] = {y.data, packed, y.type};
    }
    for (std::size_t k = moved; k < second.leaves.size(); ++k)
      if (second.leaves[k].used) second.leaves[k] = job.leaves[k - moved];
    second.results = job.results;
    add(std::move(first), cut.before);
    add(std::move(second), cut.after);
  }

  void add_columns(task job) {
    const int rank = job.domain.rank();
    const std::int64_t height = job.domain[rank - 1], columns = elements_of(job.domain) / height;
    const std::int64_t blocks = std::max<std::int64_t>(1, columns / 128), wanted = 4 * device_.processors;
    if (height < 512 || blocks >= wanted) {
      plan p = plan_columns(job);
      return push(std::move(job), std::move(p));
    }
    const std::int64_t part = std::max<std::int64_t>(64, (height * blocks + wanted - 1) / wanted);
    const std::int64_t parts = (height + part - 1) / part;
    auto [reductions, rest] = cut_at_reductions(job);
    task first = parts_task(job, *reductions);
    first.reduced_axes = job.reduced_axes;
    first.part = part;
    first.part_stride = columns;
    dims kept = job.domain, second_domain{parts};
    kept.erase(rank - 1);
    for (const std::int64_t size : kept) second_domain.push_back(size);
    const dims packed = packed_strides(job.domain, 1u << (rank - 1));
    dims of_parts{columns};
    for (int i = 0; i + 1 < rank; ++i) of_parts.push_back(packed[i]);
    task second = rest_task(job, *rest, second_domain, 1);
    for (std::size_t r = 0; r < first.results.size(); ++r) {
      first.results[r].data = workspace(parts * columns, first.results[r].type);
      first.results[r].strides = packed;
      second.leaves[r] = {first.results[r].data, of_parts, first.results[r].type};
    }
    auto over_parts = [&](const dims& strides) {
      dims all{0};
      for (int i = 0; i + 1 < rank; ++i) all.push_back(strides[i]);
      return all;
    };
    const std::size_t moved = first.results.size();
    for (std::size_t k = 0; k < job.leaves.size(); ++k)
      if (moved + k < second.leaves.size() && second.leaves[moved + k].used) {
        second.leaves[moved + k] = job.leaves[k];
        second.leaves[moved + k].strides = over_parts(job.leaves[k].strides);
      }
    for (std::size_t r = 0; r < job.results.size(); ++r) {
      second.results[r] = job.results[r];
      second.results[r].strides = over_parts(job.results[r].strides);
    }
    plan p = plan_columns(first);
    tape_ = reductions;
    push(std::move(first), std::move(p));
    add(std::move(second), rest);
  }

  // Sums that no kernel has room for: their terms are written out and added up by kernels of their own.
  void add_dense(task job) {
    std::vector<std::pair<task, std::shared_ptr<const program>>> sums;
    for (std::size_t r = 0; r < job.results.size(); ++r) {
      result_view& y = job.results[r];
      if (!is_narrow(job, y)) continue;
      const dtype type = compute_type(y.type);
      const dims packed = packed_strides(job.domain);
      const std::int64_t next = elements_of(job.domain);
      auto tape = sum_of_leaf(type);
      task sum = task_for(view_of(*tape), job.domain);
      sum.reduction_rooted = true;
      for (int i = 0; i < job.domain.rank(); ++i)
        if (y.strides[i] == 0) sum.reduced_axes |= 1u << i;
      sum.results[0] = y;
      y = {workspace(next, type), packed, type, false};
      sum.leaves[0] = {y.data, packed, type};
      sums.emplace_back(std::move(sum), std::move(tape));
    }
    add(std::move(job), tape_);
    for (auto& [sum, tape] : sums) add(std::move(sum), tape);
  }

  // What is no memory cannot be copied: what is taken or drawn is.
  void add_after_virtual(task job) {
    const cut_tape tapes = cut_after_virtual(job.tape);
    auto [first, second] =
        cut_virtual(job, tapes, [this](std::int64_t values, dtype type) { return workspace(values, type); });
    add(std::move(first), tapes.before);
    add(std::move(second), tapes.after);
  }

  // Rows along axes that do not join into one for some operand: every operand is copied to where they do.
  void add_packed(task job) {
    if (any_virtual(job)) return add_after_virtual(std::move(job));
    order_axes(job);
    const int rank = job.domain.rank();
    const dims packed = packed_strides(job.domain);
    const std::int64_t next = elements_of(job.domain);
    const std::shared_ptr<const program> mine = tape_;
    for (leaf_view& x : job.leaves) {
      if (!x.used || x.strides == dims::filled(rank, 0)) continue;
      const auto tape = copy_of_leaf(x.type);
      task copy = task_for(view_of(*tape), job.domain);
      copy.leaves[0] = x;
      x.data = workspace(next, x.type);
      x.strides = packed;
      copy.results[0] = {const_cast<void*>(x.data), packed, x.type, false};
      add(std::move(copy), tape);
    }
    std::vector<std::pair<task, std::shared_ptr<const program>>> after;
    for (result_view& y : job.results) {
      if (!y.data || job.reduction_rooted) continue;
      const dtype type = compute_type(y.type);
      auto tape = copy_of_leaf(type);
      task copy = task_for(view_of(*tape), job.domain);  // a result that is narrower is summed there
      copy.results[0] = y;
      y = {workspace(next, type), packed, type, false};
      copy.leaves[0] = {y.data, packed, type};
      after.emplace_back(std::move(copy), std::move(tape));
    }
    add(std::move(job), mine);
    for (auto& [copy, tape] : after) add(std::move(copy), tape);
  }

  const device_shape& device_;
  const scratch_memory& memory_;
  std::shared_ptr<const program> tape_;
};

}  // namespace detail

/// The kernels that do what `job` asks, in order. A task without elements needs none; where its results have elements
/// because they are sums over nothing, the caller writes zeros. Throws value_error for a reduction of nothing that has
/// no identity (max, min).
std::vector<launch> schedule(const task& job, const device_shape& device, const scratch_memory& memory);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/schedule_impl.hpp>
#endif
