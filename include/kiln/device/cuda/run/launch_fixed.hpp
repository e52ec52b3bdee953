// SPDX-License-Identifier: BSL-1.0
// Launches kernels that are not made of a tape (print/print_fixed.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/run/kernels.hpp>

namespace kiln::cuda {

/// Queues the kernel that `print()` gives, known by `key`, with `items` things to do, one a thread at a time; as many
/// blocks as the device runs at once. `arguments` are the addresses of the parameters' values.
template <class Print, std::size_t N>
void launch_fixed(const std::string& key, Print print, std::int64_t items, int threads, const stream& where,
                  const void* const (&arguments)[N]) {
  if (items == 0) return;
  const Cuda device = where.device();
  auto kernel = detail::kernel_table::instance().find(key, device.index);
  if (!kernel) kernel = load_kernel(key, print(), device);
  std::array<void*, N> places;
  for (std::size_t i = 0; i < N; ++i) places[i] = const_cast<void*>(arguments[i]);
  const std::int64_t blocks = std::clamp<std::int64_t>((items + threads - 1) / threads, 1, kernel->resident);
  kernel->function.launch({.grid_x = static_cast<unsigned>(blocks), .block_x = static_cast<unsigned>(threads)}, where,
                          places.data());
}

}  // namespace kiln::cuda
