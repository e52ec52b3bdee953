// SPDX-License-Identifier: BSL-1.0
// The plan of a reduction down the columns: rows of the program run across memory, the last axis that stays runs along
// it. For tapes of one pass whose results are one value per row.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise.hpp>

namespace kiln::cuda {

/// Whether the rows of a task, ordered and collapsed, lie across memory and reduce down columns in one pass.
bool columns_suit(const task& job);

/// The plan of a reduction down the columns of a task that suits, ordered and collapsed. Swaps the last two axes: the
/// one that runs along memory becomes the innermost.
plan plan_columns(task& job);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/specialise_columns_impl.hpp>
#endif
