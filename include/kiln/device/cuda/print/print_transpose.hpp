// SPDX-License-Identifier: BSL-1.0
// Prints maps whose leaves disagree on the fast axis (a + transpose(b)). A block takes a tile of the last two axes:
// leaves that lie along the other axis are read along it into shared memory, and from there across it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise_transpose.hpp>
#include <kiln/device/cuda/print/print_map.hpp>

namespace kiln::cuda {

/// Prints what `p` plans for `job`, both as plan_transpose left them.
source print_transpose(const task& job, const plan& p);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_transpose_impl.hpp>
#endif
