// SPDX-License-Identifier: BSL-1.0
// The definitions of fault.hpp.
#pragma once

#include <kiln/device/cuda/run/fault.hpp>

namespace kiln::cuda {

KILN_INLINE std::uint32_t* fault_word(Cuda device) {
  check_device(device);
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

KILN_INLINE void check_fault(Cuda device) {
  check_device(device);
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
