// SPDX-License-Identifier: BSL-1.0
// What stands between brackets: positions and ranges of axes.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

namespace kiln {

/// Elements begin, begin + step, ... before end of an axis; slice() makes it.
struct axis_range {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max(), step = 1;
};
/// What stands for one axis in `x[{slice(1, 3), 0}]`: one position, or a range of them.
struct axis_index {
  axis_range range;
  bool is_range = true;
  axis_index(const axis_range& r) : range(r) {}
  template <std::integral I>
  axis_index(I at) : is_range(false) {
    range.begin = static_cast<std::int64_t>(at);
  }
};

}  // namespace kiln
