// SPDX-License-Identifier: BSL-1.0
// Prints reductions down the columns: rows of the program run across memory, the last axis that stays runs along it.
// A warp reads along memory, the warps of a block share the rows, and tall domains are cut into parts whose results
// another kernel folds (schedule.hpp). For tapes of one pass whose results are one value per row.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print_reduce.hpp>
#include <kiln/device/cuda/specialise_rows.hpp>

namespace kiln::cuda {

/// Whether the rows of a task, ordered and collapsed, lie across memory and reduce down columns in one pass.
bool columns_suit(const task& job);

/// The plan of a reduction down the columns of a task that suits, ordered and collapsed. Swaps the last two axes: the
/// one that runs along memory becomes the innermost.
plan plan_columns(task& job);

/// Prints what `p` plans for `job`, both as plan_columns left them.
source print_columns(const task& job, const plan& p);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print_columns_impl.hpp>
#endif
