// SPDX-License-Identifier: BSL-1.0
// The third parameter of Tensor: whether its shape is known to the compiler.
#pragma once

#include <cstdint>

namespace kiln {

/// Rank and sizes are known at run time; the usual case.
struct dynamic_extents {};

/// All sizes are known at compile time: `extents<64, 784>`.
template <std::int64_t... Sizes>
struct extents {
  static constexpr int rank = sizeof...(Sizes);
};

}  // namespace kiln
