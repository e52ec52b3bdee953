// SPDX-License-Identifier: BSL-1.0
// The plan of a map whose leaves disagree on the fast axis (a + transpose(b)): which axis is turned, a tile at a time.
#pragma once

#include <algorithm>
#include <cstddef>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/driver_types.hpp>
#include <kiln/device/cuda/plan/specialise.hpp>

namespace kiln::cuda {

/// Elements along both sides of a tile that is turned in shared memory: the first where there is room for all tiles and
/// the axes are that long.
inline constexpr int large_tile = 64, small_tile = 32;

/// Elements between the rows of a tile: so many that a warp that writes along rows, and one that reads down columns,
/// meet each bank of shared memory once.
constexpr int tile_pitch(int tile, std::size_t size) {
  return tile + std::max(1, 4 / static_cast<int>(size));
}

/// The axis along which some leaves of a map, ordered and collapsed, lie side by side in memory while the result does
/// so along the last: what a tile should turn. -1 if there is none, or too little to turn.
int axis_to_turn(const task& job);

/// The plan of a map that turns `axis` (see axis_to_turn), which becomes the last but one of `job`.
plan plan_transpose(task& job, int axis);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/specialise_transpose_impl.hpp>
#endif
