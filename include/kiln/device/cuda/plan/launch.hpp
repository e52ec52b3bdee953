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

/// What of the device a schedule depends on.
struct device_shape {
  int processors = 132;    ///< streaming multiprocessors
  int blocks_on_each = 8;  ///< of 256 threads, that a processor runs at once
  std::int64_t resident(const plan& p) const {
    return std::int64_t{processors} * std::max(1, blocks_on_each * 256 / p.threads);
  }
};

/// Gives device memory for that many bytes, aligned to 256, which lives until the launches have run.
using scratch_memory = std::function<void*(std::size_t bytes)>;

}  // namespace kiln::cuda
