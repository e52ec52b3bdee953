// SPDX-License-Identifier: BSL-1.0
// The definitions of memory_pool.hpp.
#pragma once

#include <kiln/device/cuda/memory/memory_pool.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE void destroy(memory_pool* pool) noexcept {
  pool->end(pool);
}

}  // namespace detail
}  // namespace kiln::cuda
