// SPDX-License-Identifier: BSL-1.0
// The definitions of finished.hpp.
#pragma once

#include <kiln/device/cuda/run/finished.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::uint32_t* new_word(const stream& where) {
  static free_words& all = *new free_words;
  const Cuda device = where.device();
  const auto place = static_cast<std::size_t>(device.index);
  const std::lock_guard lock(all.mutex);
  if (all.words.size() <= place) all.words.resize(place + 1);
  std::vector<std::uint32_t*>& mine = all.words[place];
  // Recorded kernels take what is left of a block: outside of captures there is always some.
  if (mine.empty() || (!capturing && mine.size() < free_words::block / 2)) {
    refuse_in_capture("memory for the counts of blocks");
    const pool_scope general{ref<memory_pool>()};  // and not a graph's
    const stream& usual = current_stream(device);
    all.memory.push_back(new_storage(free_words::block * sizeof(std::uint32_t), usual));
    fill_bytes(all.memory.back()->data, 0, free_words::block * sizeof(std::uint32_t), usual);
    usual.synchronize();  // other streams count in it as well
    for (std::size_t i = free_words::block; i-- > 0;)
      mine.push_back(static_cast<std::uint32_t*>(all.memory.back()->data) + i);
  }
  std::uint32_t* const word = mine.back();
  mine.pop_back();
  return word;
}

}  // namespace detail

KILN_INLINE std::uint32_t* finished_word(const stream& where) {
  if (detail::capturing) return detail::new_word(where);
  std::atomic<std::uint32_t*>& mine = where.state()->finished;
  std::uint32_t* known = mine.load(std::memory_order_acquire);
  if (known) return known;
  // Of two threads that come at once, one has taken a word in vain.
  std::uint32_t* const made = detail::new_word(where);
  return mine.compare_exchange_strong(known, made, std::memory_order_acq_rel) ? made : known;
}

}  // namespace kiln::cuda
