// SPDX-License-Identifier: BSL-1.0
// Prints reductions down the columns: rows of the program run across memory, the last axis that stays runs along it.
// A warp reads along memory, the warps of a block share the rows, and tall domains are cut into parts whose results
// another kernel folds (schedule.hpp). For tapes of one pass whose results are one value per row.
#pragma once

#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise_columns.hpp>
#include <kiln/device/cuda/plan/specialise_rows.hpp>
#include <kiln/device/cuda/print/print_fold.hpp>
#include <kiln/device/cuda/print/print_map.hpp>

namespace kiln::cuda {

/// Prints what `p` plans for `job`, both as plan_columns left them.
source print_columns(const task& job, const plan& p);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_columns_impl.hpp>
#endif
