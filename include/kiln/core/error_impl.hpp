// SPDX-License-Identifier: BSL-1.0
// The definitions of error.hpp.
#pragma once

#include <sstream>  // and std::locale: its own header brings facets, which every file would instantiate
#include <string>

#include <kiln/core/error.hpp>

namespace kiln {

namespace detail {

[[gnu::cold]] KILN_INLINE std::string join(std::initializer_list<printable> parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());  // also texts of CUDA are joined here, in which 1.024 is another number
  for (const printable& part : parts) part.print(out);
  return out.str();
}

}  // namespace detail
}  // namespace kiln
