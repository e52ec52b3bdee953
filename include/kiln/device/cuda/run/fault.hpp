// SPDX-License-Identifier: BSL-1.0
// What a kernel finds wrong with its data (an integer divided by zero, an index that names no place): it sets a word
// that the host looks at when it waits for the device anyway.
#pragma once

#include <cstdint>
#include <string>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/memory/memory_pinned.hpp>
#include <kiln/device/cuda/run/device_words.hpp>

namespace kiln::cuda {

/// Where a kernel reports a fault on a device; `what` is what the error will call it.
std::uint32_t* fault_word(Cuda device, const std::string& what);

/// After the host has waited for a device: throws value_error if a kernel has divided an integer by zero since the last
/// time, index_error if one has met an index that names no place; both name the kernel. Values that depend on that are
/// not to be used.
void check_fault(Cuda device);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/fault_impl.hpp>
#endif
