// SPDX-License-Identifier: BSL-1.0
// What a kernel finds wrong with its data (an integer divided by zero, an index that names no place): it sets a word
// that the host looks at when it waits for the device anyway.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/device/cuda/memory_pinned.hpp>

namespace kiln::cuda {

namespace detail {

struct fault_words {
  std::mutex mutex;
  // Pinned, so that kernels reach it at the address that the host uses.
  std::vector<std::atomic<std::uint32_t*>> word;
  fault_words() : word(static_cast<std::size_t>(cuda_device_count())) {}
  static fault_words& instance() {
    static fault_words& words = *new fault_words;
    return words;
  }
};

}  // namespace detail

/// Where kernels of a device report a fault.
inline std::uint32_t* fault_word(Cuda device) {
  auto& all = detail::fault_words::instance();
  auto& mine = all.word[static_cast<std::size_t>(device.index)];
  if (std::uint32_t* known = mine.load(std::memory_order_acquire)) return known;
  const std::lock_guard lock(all.mutex);
  if (std::uint32_t* known = mine.load(std::memory_order_acquire)) return known;
  static std::vector<ref<storage>>& kept = *new std::vector<ref<storage>>;
  kept.push_back(new_pinned_storage(sizeof(std::uint32_t), device));
  auto* made = static_cast<std::uint32_t*>(kept.back()->data);
  *made = 0;
  mine.store(made, std::memory_order_release);
  return made;
}

/// After the host has waited for a device: throws value_error if a kernel has divided an integer by zero since the last
/// time, index_error if one has met an index that names no place. Values that depend on that are not to be used.
inline void check_fault(Cuda device) {
  std::uint32_t* const word =
      detail::fault_words::instance().word[static_cast<std::size_t>(device.index)].load(std::memory_order_acquire);
  if (!word) return;
  const std::atomic_ref<std::uint32_t> flag(*word);
  const std::uint32_t found = flag.load(std::memory_order_relaxed);
  if (found == 0) return;
  flag.store(0, std::memory_order_relaxed);
  if (found == 2)
    throw index_error(
        "an index outside its axis, in a gather or scatter that ran since the last time that values were read: check "
        "the indices");
  throw value_error(
      "division of an integer by zero, in a kernel that ran since the last time that values were read: "
      "check the divisor, or compute in a floating type");
}

}  // namespace kiln::cuda
