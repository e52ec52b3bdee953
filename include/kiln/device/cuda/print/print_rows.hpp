// SPDX-License-Identifier: BSL-1.0
// Prints row programs: as many passes over each row as reductions depend on each other, the row in registers of a warp
// or a block, or read again for every pass if it is long. Maps with results that are sums over the rows or along them
// are row programs without reductions. `row_printer::print` in the second part writes one.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/source.hpp>

namespace kiln::cuda {

/// Prints the row program that `p` plans for `job`, both as plan_rows left them.
source print_rows(const task& job, const plan& p);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_rows_impl.hpp>
#endif
