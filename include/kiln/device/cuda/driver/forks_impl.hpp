// SPDX-License-Identifier: BSL-1.0
// The definitions of forks.hpp.
#pragma once

#include <kiln/device/cuda/driver/forks.hpp>

namespace kiln::cuda::detail {

KILN_INLINE const char* words_for_child() noexcept {
  return "CUDA driver: this is the child of a fork, and its parent had started CUDA, which cannot be used here any "
         "more: start CUDA in the child only, begin the child anew with exec, or compute on the processor";
}

KILN_INLINE void throw_in_child() {
  throw device_error(words_for_child());
}

}  // namespace kiln::cuda::detail
