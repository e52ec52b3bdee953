// SPDX-License-Identifier: BSL-1.0
// What a schedule is made of: one kernel with its task, plan and grid (`launch`), and what of the device it depends on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/plan/specialise_rows.hpp>
#include <kiln/tape/program.hpp>

namespace kiln::cuda {

/// One kernel to launch: its task and plan, which name its text (print/print_kernel.hpp), and the grid.
struct launch {
  task job;
  plan how;
  std::int64_t blocks = 1;
  std::vector<std::uint64_t> scratch = {};   ///< per result: memory for shares, or 0
  std::shared_ptr<const program> tape = {};  ///< of a kernel that the task itself does not have
};

/// How many blocks of a launch to start where that many of its kernel run at once, which is known when it is loaded:
/// its threads walk on by the grid, whatever that is. Where another kernel counts on what each block leaves, all of
/// them.
inline std::int64_t fitting_blocks(const launch& what, std::int64_t resident) {
  const bool counted = !what.scratch.empty() && what.how.shape != kernel_shape::reduce_all;
  return counted ? what.blocks : whole_clusters(what.how, std::min(what.blocks, resident));
}

/// What of the device a schedule depends on.
struct device_shape {
  int processors = 132;                       ///< streaming multiprocessors
  int blocks_on_each = 8;                     ///< of 256 threads, that a processor runs at once
  std::size_t shared_bytes = most_row_bytes;  ///< that a block may have
  int cluster = most_cluster;                 ///< blocks that may hold a row together: 1 before sm_90
  std::int64_t resident(const plan& p) const {
    return std::int64_t{processors} * std::max(1, blocks_on_each * 256 / p.threads);
  }
};

/// Gives device memory for that many bytes, aligned to 256, which lives until the launches have run.
using scratch_memory = std::function<void*(std::size_t bytes)>;

}  // namespace kiln::cuda
