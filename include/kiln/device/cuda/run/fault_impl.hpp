// SPDX-License-Identifier: BSL-1.0
// The definitions of fault.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include <kiln/device/cuda/run/fault.hpp>

namespace kiln::cuda {

namespace detail {

// A word for each kernel that may find something, so that an error can name it; the first is that of all others.
struct fault_words {
  static constexpr std::size_t most = 1024;
  device_words<std::uint32_t> words;  // pinned, so that kernels reach them at the address that the host uses
  device_lock mutex;
  std::vector<std::vector<std::string>> names;  // by device
  fault_words() : names(static_cast<std::size_t>(cuda_device_count()), {"one of many kernels"}) {}
  static fault_words& instance() {
    static fault_words& all = *new fault_words;
    return all;
  }
};

}  // namespace detail

KILN_INLINE std::uint32_t* fault_word(Cuda device, const std::string& what) {
  check_device(device);
  auto& all = detail::fault_words::instance();
  std::uint32_t* const words = all.words.of(device, [&] {
    ref<storage> made = new_pinned_storage(detail::fault_words::most * sizeof(std::uint32_t), device);
    std::fill_n(static_cast<std::uint32_t*>(made->data), detail::fault_words::most, 0u);
    return made;
  });
  const std::lock_guard lock(all.mutex);
  std::vector<std::string>& names = all.names[static_cast<std::size_t>(device.index)];
  const auto known = std::find(names.begin() + 1, names.end(), what);
  if (known != names.end()) return words + (known - names.begin());
  if (names.size() == detail::fault_words::most) return words;
  names.push_back(what);
  return words + names.size() - 1;
}

KILN_INLINE void check_fault(Cuda device) {
  check_device(device);
  auto& all = detail::fault_words::instance();
  std::uint32_t* const words = all.words.known(device);
  if (!words) return;
  std::uint32_t found = 0;
  std::size_t which = 0;
  for (std::size_t i = 0; i < detail::fault_words::most; ++i) {
    const std::atomic_ref<std::uint32_t> flag(words[i]);
    const std::uint32_t now = flag.load(std::memory_order_relaxed);
    if (now == 0) continue;
    flag.store(0, std::memory_order_relaxed);
    if (found == 0) found = now, which = i;
  }
  if (found == 0) return;
  const std::string name = [&] {
    const std::lock_guard lock(all.mutex);
    return all.names[static_cast<std::size_t>(device.index)][which];
  }();
  if (found == 2)
    throw index_error(message("an index outside its axis, in ", name,
                              ", which ran since the last time that values were read: check the indices"));
  throw value_error(message("division of an integer by zero, in ", name,
                            ", which ran since the last time that values were read: check the divisor, or compute in "
                            "a floating type"));
}

}  // namespace kiln::cuda
