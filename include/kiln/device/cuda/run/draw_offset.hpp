// SPDX-License-Identifier: BSL-1.0
// How far the random numbers of a kernel lie beyond those that it was queued for: 0, but in a graph, each of whose
// replays is to draw the next numbers and not the same ones again. Kernels that draw read it from device memory.
#pragma once

#include <cstdint>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>
#include <kiln/device/cuda/run/device_words.hpp>

namespace kiln::cuda {

namespace detail {

/// The word of the graph that this thread records, and whether a kernel of it draws.
struct recorded_draws {
  std::uint64_t* offset = nullptr;
  bool any = false;
};
inline thread_local recorded_draws recording_draws;

/// A zero in the memory of a device.
std::uint64_t* no_offset(Cuda device);

}  // namespace detail

/// Where a kernel that is queued now reads the offset, in blocks of the stream.
inline const std::uint64_t* draw_offset(Cuda device) {
  if (detail::recording_draws.offset == nullptr) return detail::no_offset(device);
  detail::recording_draws.any = true;
  return detail::recording_draws.offset;
}

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/draw_offset_impl.hpp>
#endif
