// SPDX-License-Identifier: BSL-1.0
// The definitions of draw_offset.hpp.
#pragma once

#include <kiln/device/cuda/run/draw_offset.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::uint64_t* no_offset(Cuda device) {
  check_device(device);
  static no_offsets& all = *new no_offsets;
  auto& mine = all.word[static_cast<std::size_t>(device.index)];
  if (std::uint64_t* known = mine.load(std::memory_order_acquire)) return known;
  const std::lock_guard lock(all.mutex);
  if (std::uint64_t* known = mine.load(std::memory_order_acquire)) return known;
  static std::vector<ref<storage>>& kept = *new std::vector<ref<storage>>;
  const stream& where = current_stream(device);
  const pool_scope general{ref<memory_pool>()};  // and not a graph's
  kept.push_back(new_storage(sizeof(std::uint64_t), where));
  fill_bytes(kept.back()->data, 0, sizeof(std::uint64_t), where);
  where.synchronize();  // other streams read it as well
  auto* const made = static_cast<std::uint64_t*>(kept.back()->data);
  mine.store(made, std::memory_order_release);
  return made;
}

}  // namespace detail
}  // namespace kiln::cuda
