// SPDX-License-Identifier: BSL-1.0
// Words in which the blocks of a kernel count how many of them have ended, so that the last one folds what all have
// left (kernels/reduce.cuh). Each is 0 between kernels. Kernels that may run at once have words of their own: each
// stream has one, and each kernel that a graph records, since graphs run beside whatever stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>

namespace kiln::cuda {

namespace detail {

/// Words that nobody has yet, on each device. None comes back: four bytes for each stream and each recorded kernel.
struct free_words {
  static constexpr std::size_t block = 16384;  ///< words that are asked of the device at once
  device_lock mutex;
  std::vector<std::vector<std::uint32_t*>> words;
  std::vector<ref<storage>> memory;
};

/// A word that nobody else has. Throws device_error while a graph is captured if all are taken, which takes thousands
/// of kernels since the last one outside.
std::uint32_t* new_word(const stream& where);

}  // namespace detail

/// Where the kernel that is queued next in a stream counts its blocks.
std::uint32_t* finished_word(const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/finished_impl.hpp>
#endif
