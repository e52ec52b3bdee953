// SPDX-License-Identifier: BSL-1.0
// Which kernels a program may want, before it has met a tensor: those of its registered tapes in the layouts that
// tensors mostly have, one for each tape that fits any layout, and what all programs share. Read `bundle_sources`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/compile/registry.hpp>
#include <kiln/device/cuda/plan/schedule.hpp>
#include <kiln/device/cuda/plan/schedule_general.hpp>
#include <kiln/device/cuda/print/print_kernel.hpp>
#include <kiln/device/cuda/print/print_random.hpp>

namespace kiln::cuda {

namespace detail {

/// Kernels, each text once.
class source_set {
 public:
  void add(source printed) {
    if (seen_.insert(printed.text).second) all.push_back(std::move(printed));
  }
  /// The kernels of a task as `schedule` and, with `general`, `schedule_general` cut it. A task that cannot be is none.
  void add(const task& job, bool general) {
    std::uint64_t next = std::uint64_t{1} << 60;
    const scratch_memory memory = [&next](std::size_t bytes) {
      const std::uint64_t at = next;
      next += (bytes + 255) / 256 * 256;
      return reinterpret_cast<void*>(at);
    };
    try {
      // Long rows are held in the shared memory that a block may have, by clusters of blocks where there are any: sm_90
      // and sm_100, sm_120, sm_80, and smaller devices. Without either, one text does for all lengths that no other
      // fits.
      for (const auto& [kibibytes, cluster] : {std::pair<std::size_t, int>{most_row_bytes >> 10, most_cluster},
                                               {99, most_cluster},
                                               {163, 1},
                                               {99, 1},
                                               {0, 1}}) {
        const device_shape device{.shared_bytes = kibibytes << 10, .cluster = cluster};
        for (const launch& l : general ? schedule_general(job, device, memory) : schedule(job, device, memory))
          add(print_kernel(l));
        if (general || count_reductions(job.tape) == 0) break;
      }
    } catch (const value_error&) {  // such as rows too long for what this program does: it would say so at run time
    }
  }
  std::vector<source> all;

 private:
  std::set<std::string> seen_;
};

/// Layouts of one tape as tensors mostly have them.
class usual_layouts {
 public:
  usual_layouts(const registered_tape& of, source_set& into)
      : of_(of), into_(into), reductions_(count_reductions(of.tape)) {}

  void add_all() {
    if (reductions_ == 0) {
      add_contiguous({4096}, 0);
      return add_broadcast({1024, 1024}, 0);
    }
    const std::uint32_t last = 2;
    for (const std::int64_t length : {10, 64, 256, 512, 768, 1024, 2048, 4096, 32768, 65536})
      add_contiguous({4096, length}, last);
    add_broadcast({4096, 1024}, last);
    if (!of_.reduction_rooted) return;
    for (const dims& domain : {dims{1000}, dims{1 << 20}, dims{256, 4096}, dims{4096, 256}})
      into_.add(contiguous(domain, 1), false);
  }
  /// Contiguous operands over a domain.
  task contiguous(const dims& domain, std::uint32_t reduced = 0) const {
    task job = task_for(of_.tape, domain);
    job.reduced_axes = reduced;
    job.reduction_rooted = of_.reduction_rooted;
    std::uint64_t next = 1;
    const auto place = [&next] { return reinterpret_cast<void*>(next++ << 44); };
    for (leaf_view& x : job.leaves)
      if (x.used) x = {place(), packed_strides(domain), x.type, true};
    for (std::size_t r = 0; r < job.results.size(); ++r)
      if (of_.tape.results[r] >= 0)
        job.results[r] = {place(), packed_strides(domain, of_.reduction_rooted ? reduced : 0), of_.stores[r], false};
    return job;
  }

 private:
  static constexpr std::size_t most_leaves = 12;

  // A program with several results is a gradient: they belong to its first leaves in order, are wanted all or one by
  // one, and are added up over backward passes.
  bool is_gradient() const { return of_.tape.result_count > 1; }

  void add_contiguous(const dims& domain, std::uint32_t reduced) {
    task job = contiguous(domain, reduced);
    into_.add(job, false);
    for (std::size_t r = 0; is_gradient() && r < job.results.size() && r < most_leaves; ++r) add_alone(job, r);
    if (of_.reduction_rooted || !floating()) return;
    for (result_view& y : job.results) y.add = y.data != nullptr;
    into_.add(job, false);
  }
  void add_alone(task job, std::size_t wanted) {
    for (std::size_t r = 0; r < job.results.size(); ++r)
      if (r != wanted) job.results[r].data = nullptr;
    if (job.results[wanted].data) into_.add(job, false);
  }
  // One leaf, or all but the first, broadcast along the rows, across them, or both. The gradient of such a leaf is a
  // sum.
  void add_broadcast(const dims& domain, std::uint32_t reduced) {
    const task job = contiguous(domain, reduced);
    const std::size_t leaves = job.leaves.size(), own = is_gradient() ? std::min(leaves, job.results.size()) : leaves;
    for (const dims& strides : {dims{0, 1}, dims{1, 0}, dims{0, 0}}) {
      const auto spread = [&](task& what, std::size_t k) {
        if (what.leaves[k].used) what.leaves[k].strides = strides;
        if (is_gradient() && k < own) what.results[k].strides = strides;
      };
      for (std::size_t k = 0; k < leaves && leaves <= most_leaves; ++k) {
        task one = job;
        spread(one, k);
        into_.add(one, false);
        if (is_gradient() && k < own) add_alone(one, k);
      }
      task others = job;
      for (std::size_t k = 1; k < own; ++k) spread(others, k);
      into_.add(others, false);
    }
  }
  bool floating() const {
    for (int r = 0; r < of_.tape.result_count; ++r)
      if (!is_floating(of_.stores[r])) return false;
    return true;
  }

  const registered_tape& of_;
  source_set& into_;
  int reductions_;
};

/// What any layout of any tape may need: copies and sums of every type, and random numbers.
void add_common_sources(source_set& into);

}  // namespace detail

/// The kernels that a program with these tapes, and with `more` that have none, may want: for each tape those of the
/// usual layouts and one that fits any, and what all programs share. In one order for one set of tapes.
std::vector<source> bundle_sources(std::vector<registered_tape> tapes, std::vector<source> more = {});

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/compile/bundle_sources_impl.hpp>
#endif
