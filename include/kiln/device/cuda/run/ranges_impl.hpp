// SPDX-License-Identifier: BSL-1.0
// The definitions of ranges.hpp.
#pragma once

#include <kiln/device/cuda/run/ranges.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE const nvtx_functions* profiler() {
  if (!profiling()) return nullptr;
  static const nvtx_functions& opened = *[] {  // tried again if it throws
    nvtx_functions api{};
    api.file = open_library(nvtx_library);
    api.file.get(api.push, "nvtxRangePushA");
    api.file.get(api.pop, "nvtxRangePop");
    return new nvtx_functions(api);
  }();
  return &opened;
}

}  // namespace detail

KILN_INLINE bool profiling() {
  static const bool wanted = detail::environment("KILN_NVTX") == "1";
  return wanted;
}

}  // namespace kiln::cuda
