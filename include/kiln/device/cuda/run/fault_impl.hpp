// SPDX-License-Identifier: BSL-1.0
// The definitions of fault.hpp.
#pragma once

#include <atomic>

#include <kiln/device/cuda/run/fault.hpp>

namespace kiln::cuda {

namespace detail {

// Pinned, so that kernels reach them at the address that the host uses.
inline device_words<std::uint32_t>& fault_words() {
  static device_words<std::uint32_t>& all = *new device_words<std::uint32_t>;
  return all;
}

}  // namespace detail

KILN_INLINE std::uint32_t* fault_word(Cuda device) {
  return detail::fault_words().of(device, [&] {
    ref<storage> made = new_pinned_storage(sizeof(std::uint32_t), device);
    *static_cast<std::uint32_t*>(made->data) = 0;
    return made;
  });
}

KILN_INLINE void check_fault(Cuda device) {
  std::uint32_t* const word = detail::fault_words().known(device);
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
