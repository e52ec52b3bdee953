// SPDX-License-Identifier: BSL-1.0
// The definitions of draw_offset.hpp.
#pragma once

#include <kiln/device/cuda/run/draw_offset.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::uint64_t* no_offset(Cuda device) {
  static device_words<std::uint64_t>& all = *new device_words<std::uint64_t>;
  return all.of(device, [&] {
    const stream& where = current_stream(device);
    const pool_scope general{ref<memory_pool>()};  // and not a graph's
    ref<storage> made = new_storage(sizeof(std::uint64_t), where);
    fill_bytes(made->data, 0, sizeof(std::uint64_t), where);
    where.synchronize();  // other streams read it as well
    return made;
  });
}

}  // namespace detail
}  // namespace kiln::cuda
