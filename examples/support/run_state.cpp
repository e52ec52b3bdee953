// SPDX-License-Identifier: BSL-1.0
// What run_state.hpp has for every model alike.
#include "run_state.hpp"

#include <algorithm>
#include <numeric>

namespace support {

std::vector<std::int64_t> epochs_from(std::int64_t done, std::int64_t all, learning_curve& curve, progress& show) {
  curve.first = done + 1;
  show.resume(done);
  std::vector<std::int64_t> left(static_cast<std::size_t>(std::max<std::int64_t>(all - done, 0)));
  std::iota(left.begin(), left.end(), done);
  return left;
}

}  // namespace support
