// SPDX-License-Identifier: BSL-1.0
// The definitions of specialise_transpose.hpp.
#pragma once

#include <kiln/device/cuda/plan/specialise_transpose.hpp>

namespace kiln::cuda {

KILN_INLINE int axis_to_turn(const task& job) {
  const int last = job.domain.rank() - 1;
  if (last < 1 || job.domain[last] < 8) return -1;
  for (const leaf_view& x : job.leaves) {
    if (!x.used || !x.is_memory() || x.strides[last] == 0 || x.strides[last] == 1) continue;
    for (int axis = 0; axis < last; ++axis)
      if (x.strides[axis] == 1 && job.domain[axis] >= 8) return axis;
  }
  return -1;
}

KILN_INLINE plan plan_transpose(task& job, int axis) {
  const int last = job.domain.rank() - 1;
  for (int i = axis; i + 1 < last; ++i) detail::swap_axes(job, i, i + 1);
  plan p{.shape = kernel_shape::transpose, .rank = job.domain.rank()};
  p.wide = detail::needs_wide(job);
  p.apart = detail::all_apart(job);
  detail::find_same_leaves(job, p);
  const auto turns = [&](const leaf_view& x) {
    return x.used && x.is_memory() && x.strides[last] != 0 && x.strides[last] != 1 && x.strides[last - 1] == 1;
  };
  const auto tiles = [&](int tile) {
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < job.leaves.size(); ++k)
      if (turns(job.leaves[k]) && p.same_as[k] == static_cast<std::int16_t>(k))
        bytes += static_cast<std::size_t>(tile * tile_pitch(tile, size_of(job.leaves[k].type))) *
                 size_of(job.leaves[k].type);
    return bytes;
  };
  const bool large = std::min(job.domain[last], job.domain[last - 1]) > small_tile;
  p.tile = large && tiles(large_tile) <= most_shared_bytes ? large_tile : small_tile;
  p.step = std::min(detail::step_of(job, 8), detail::most_neighbours(job.tape));
  for (const leaf_view& x : job.leaves)
    if (turns(x)) p.step = std::min(p.step, static_cast<int>(16 / size_of(x.type)));
  p.threads = std::min(256, p.tile / p.step * p.tile);
  detail::plan_operands(job, p);
  // Of 32 registers a thread, which is what a tile and a short formula take, a multiprocessor holds all its threads.
  if (p.threads == 256 && detail::work_of(job.tape) <= detail::light_work && job.leaves.size() <= 3)
    p.least_blocks = all_blocks;
  // As many as shared memory has room for; the others are read where they lie.
  std::size_t left = most_shared_bytes;
  for (std::size_t k = 0; k < job.leaves.size(); ++k) {
    const leaf_view& x = job.leaves[k];
    if (!turns(x)) continue;
    const auto first = static_cast<std::size_t>(p.same_as[k]);
    const std::size_t size = size_of(x.type), tile = static_cast<std::size_t>(p.tile * tile_pitch(p.tile, size)) * size;
    if (first < k) {
      p.leaves[k] = p.leaves[first];
    } else if (tile <= left) {
      dims along = x.strides;
      along.erase(last - 1);
      along.push_back(1);
      p.leaves[k].how = detail::aligned(x.data, along, size, p.step) ? access::turned : access::turned_each;
      p.leaves[k].axes = static_cast<std::uint8_t>(p.leaves[k].axes & ~(1u << (last - 1)));  // its stride is 1
      left -= tile;
    }
  }
  return p;
}

}  // namespace kiln::cuda
