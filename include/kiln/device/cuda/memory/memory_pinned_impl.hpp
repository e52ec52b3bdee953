// SPDX-License-Identifier: BSL-1.0
// The definitions of memory_pinned.hpp.
#pragma once

#include <kiln/device/cuda/memory/memory_pinned.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE void release_pinned(storage* memory) noexcept {
  pinned_memory::instance().release(static_cast<pinned_block*>(memory->owner));
  delete memory;
}

}  // namespace detail

KILN_INLINE ref<storage> new_pinned_storage(std::size_t bytes, Cuda device) {
  if (bytes > std::size_t{1} << 46) {
    throw memory_error(message("pinned memory: ", bytes, " bytes are more than any machine has; copy in parts"));
  }
  detail::pinned_block* const block = detail::pinned_memory::instance().allocate(bytes, device);
  kiln::detail::wait_for_copies.store(&wait_for_pinned_copies, std::memory_order_release);
  auto* made = new storage;
  made->data = block->start;
  made->bytes = bytes;
  made->foreign = true;
  made->release = &detail::release_pinned;
  made->owner = block;
  return ref<storage>::adopt(made);
}

KILN_INLINE bool is_pinned(const storage& memory) {
  return memory.release == &detail::release_pinned;
}

KILN_INLINE void record_pinned_use(const storage& memory, const stream& user) {
  if (!is_pinned(memory)) return;
  auto& users = static_cast<detail::pinned_block*>(memory.owner)->users;
  const std::lock_guard lock(detail::pinned_memory::instance().mutex);
  if (std::find(users.begin(), users.end(), user) == users.end()) users.push_back(user);
}

KILN_INLINE void wait_for_pinned_copies(const storage& memory) {
  if (!is_pinned(memory)) return;
  auto& users = static_cast<detail::pinned_block*>(memory.owner)->users;
  const auto known = [&] {
    const std::lock_guard lock(detail::pinned_memory::instance().mutex);
    return users;
  }();
  for (const stream& user : known) user.synchronize();
  const std::lock_guard lock(detail::pinned_memory::instance().mutex);
  for (const stream& user : known) std::erase(users, user);
}

KILN_INLINE pinned_statistics pinned_memory_stats() {
  auto& memory = detail::pinned_memory::instance();
  const std::lock_guard lock(memory.mutex);
  return memory.counts;
}

KILN_INLINE void empty_pinned_cache() {
  detail::refuse_in_capture("empty_pinned_cache");
  detail::pinned_memory::instance().empty();
}

}  // namespace kiln::cuda
