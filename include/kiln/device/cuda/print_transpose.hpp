// SPDX-License-Identifier: BSL-1.0
// Prints maps whose leaves disagree on the fast axis (a + transpose(b)). A block takes a tile of the last two axes:
// leaves that lie along the other axis are read along it into shared memory, and from there across it.
#pragma once

#include <string>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print_map.hpp>

namespace kiln::cuda {

/// The axis along which some leaves of a map, ordered and collapsed, lie side by side in memory while the result does
/// so along the last: what a tile should turn. -1 if there is none, or too little to turn.
int axis_to_turn(const task& job);

/// The plan of a map that turns `axis` (see axis_to_turn), which becomes the last but one of `job`.
plan plan_transpose(task& job, int axis);

/// Prints what `p` plans for `job`, both as plan_transpose left them.
source print_transpose(const task& job, const plan& p);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print_transpose_impl.hpp>
#endif
