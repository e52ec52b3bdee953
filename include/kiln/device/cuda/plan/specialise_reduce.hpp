// SPDX-License-Identifier: BSL-1.0
// The plan of a reduction over the whole domain: a map into one value per block, which the block that ends last folds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise.hpp>

namespace kiln::cuda {

/// Loads that a thread has under way at once.
inline constexpr int most_loads = 4;

/// The plan of a reduction over all axes of the domain in one pass. Orders them as the first leaf lies in memory, and
/// collapses.
plan plan_reduce(task& job);

/// Bytes that the blocks leave for the last one: a word for each reduction of each block.
std::size_t reduce_scratch_bytes(const task& job, std::int64_t blocks);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/specialise_reduce_impl.hpp>
#endif
