// SPDX-License-Identifier: BSL-1.0
// A word of memory for each device, made when it is first asked for and never given back: what kernels read and write
// beside their operands.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include <kiln/core/storage.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/driver/forks.hpp>

namespace kiln::cuda::detail {

template <class Word>
class device_words {
 public:
  device_words() : word_(static_cast<std::size_t>(cuda_device_count())) {}

  /// The word of a device, or null if nobody has asked for it yet. Throws device_error if there is no such device.
  Word* known(Cuda device) {
    check_device(device);
    return word_[static_cast<std::size_t>(device.index)].load(std::memory_order_acquire);
  }
  /// The word of a device: at the start of what `make()`, called once, returns as a ref<storage>.
  template <class Make>
  Word* of(Cuda device, Make make) {
    if (Word* const found = known(device)) return found;
    const std::lock_guard lock(mutex_);
    if (Word* const found = known(device)) return found;
    kept_.push_back(make());
    Word* const made = static_cast<Word*>(kept_.back()->data);
    word_[static_cast<std::size_t>(device.index)].store(made, std::memory_order_release);
    return made;
  }

 private:
  device_lock mutex_;
  std::vector<std::atomic<Word*>> word_;
  std::vector<ref<storage>> kept_;
};

}  // namespace kiln::cuda::detail
