// SPDX-License-Identifier: BSL-1.0
// What the memory pool tells about itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::cpu {

/// What memory_stats() reports; all sizes are in bytes and count whole blocks, not what was asked for.
struct memory_statistics {
  std::size_t in_use = 0;             ///< handed out and not yet freed
  std::size_t cached = 0;             ///< kept for reuse, over all threads
  std::size_t peak = 0;               ///< highest in_use + cached so far
  std::size_t limit = 0;              ///< what the shared level may keep
  std::uint64_t allocations = 0;      ///< calls of allocate()
  std::uint64_t system_requests = 0;  ///< those that had to ask the system
};

}  // namespace kiln::cpu
