// SPDX-License-Identifier: BSL-1.0
// The definitions of registry.hpp.
#pragma once

#include <kiln/device/cuda/compile/registry.hpp>

namespace kiln::cuda {

KILN_INLINE std::vector<registered_tape> registered_tapes() {
  return detail::entered<registered_tape>();
}

KILN_INLINE std::vector<source> registered_sources() {
  std::vector<source> all;
  for (const registered_kernels& each : detail::entered<registered_kernels>())
    for (source& s : each.list()) all.push_back(std::move(s));
  return all;
}

}  // namespace kiln::cuda
