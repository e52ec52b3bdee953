// SPDX-License-Identifier: BSL-1.0
// The definitions of bundle.hpp.
#pragma once

#include <kiln/device/cuda/compile/bundle.hpp>

namespace kiln::cuda {

KILN_INLINE bool bundle_required() {
  return detail::environment("KILN_REQUIRE_BUNDLE") == "1";
}

}  // namespace kiln::cuda
