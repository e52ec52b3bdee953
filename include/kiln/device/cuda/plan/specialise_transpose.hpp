// SPDX-License-Identifier: BSL-1.0
// The plan of a map whose leaves disagree on the fast axis (a + transpose(b)): which axis is turned, a tile at a time.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise.hpp>

namespace kiln::cuda {

/// The axis along which some leaves of a map, ordered and collapsed, lie side by side in memory while the result does
/// so along the last: what a tile should turn. -1 if there is none, or too little to turn.
int axis_to_turn(const task& job);

/// The plan of a map that turns `axis` (see axis_to_turn), which becomes the last but one of `job`.
plan plan_transpose(task& job, int axis);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/specialise_transpose_impl.hpp>
#endif
