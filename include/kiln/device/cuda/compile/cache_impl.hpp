// SPDX-License-Identifier: BSL-1.0
// The definitions of cache.hpp.
#pragma once

#include <kiln/device/cuda/compile/cache.hpp>

namespace kiln::cuda {

KILN_INLINE std::string numbered(std::string_view text) {
  std::string out;
  int line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string number = std::to_string(line);
    out.append(number.size() < 4 ? 4 - number.size() : 0, ' ');
    out += number;
    if (end > at) out += "  ";
    out += text.substr(at, end - at);
    out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace kiln::cuda
