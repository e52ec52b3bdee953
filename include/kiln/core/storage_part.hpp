// SPDX-License-Identifier: BSL-1.0
// A storage that is a part of another: memory of its own to whoever looks at it, with its own count of changes, in a
// block that several share. What the parameters of an optimizer stand in.
#pragma once

#include <cstddef>
#include <utility>

#include <kiln/core/storage.hpp>
#include <kiln/core/version.hpp>

namespace kiln::detail {

/// What a part keeps while it lives.
struct part_owner {
  ref<storage> whole;
  ref<storage> before;  ///< the block in whose room a tensor stands that moved here; may be empty
};

inline void release_part(storage* part) noexcept {
  delete static_cast<part_owner*>(part->owner);
  delete part;
}

/// The block that a storage is a part of; itself if it is none.
inline const storage& whole_of(const storage& part) noexcept {
  return part.release == &release_part ? *static_cast<const part_owner*>(part.owner)->whole : part;
}

/// The `bytes` bytes of a block from `data` on.
inline ref<storage> part_of(const ref<storage>& whole, void* data, std::size_t bytes, ref<storage> before = nullptr) {
  auto* const owner = new part_owner{whole, std::move(before)};
  storage* part = nullptr;
  try {
    part = new storage;
  } catch (...) {
    delete owner;
    throw;
  }
  part->device = whole->device;
  part->data = data;
  part->bytes = bytes;
  part->owner = owner;
  part->release = &release_part;
  return ref<storage>::adopt(part);
}

}  // namespace kiln::detail
