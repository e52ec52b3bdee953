// SPDX-License-Identifier: BSL-1.0
// The definitions of error.hpp.
#pragma once

#include <sstream>
#include <string>

#include <kiln/core/error.hpp>

namespace kiln {

namespace detail {

[[gnu::cold]] KILN_INLINE std::string join(std::initializer_list<printable> parts) {
  std::ostringstream out;
  for (const printable& part : parts) part.print(out);
  return out.str();
}

}  // namespace detail
}  // namespace kiln
