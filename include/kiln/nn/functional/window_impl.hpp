// SPDX-License-Identifier: BSL-1.0
// The definitions of window.hpp.
#pragma once

#include <kiln/nn/functional/window.hpp>

namespace kiln::detail {

KILN_INLINE void check_window(const window2d& w, const char* where) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;  // so that no sum or product below overflows
  auto check = [&](const pair2d& value, std::int64_t least, const char* what) {
    for (const std::int64_t v : {value.height, value.width})
      if (v < least || v >= limit)
        throw value_error(message(where, ": a ", what, " of ", value, ": use numbers from ", least, " to ", limit - 1));
  };
  for (const std::int64_t k : {w.kernel.height, w.kernel.width})
    if (k < 1 || k >= limit)
      throw shape_error(message(where, ": a kernel of ", w.kernel, ": each size must be from 1 to ", limit - 1));
  check(w.stride, 1, "stride");
  check(w.padding, 0, "padding");
  check(w.dilation, 1, "dilation");
}

KILN_INLINE pair2d window_places(const pair2d& image, const window2d& w, bool ceil, const dims& shape,
                                 const char* where) {
  const pair2d reach = w.reach();
  const pair2d places{window_places(image.height, reach.height, w.stride.height, w.padding.height, ceil),
                      window_places(image.width, reach.width, w.stride.width, w.padding.width, ceil)};
  if (places.height < 1 || places.width < 1)
    throw shape_error(message(where, ": a kernel of ", w.kernel, " with dilation ", w.dilation, " reaches over ", reach,
                              ", more than the images of shape ", shape, " have with a padding of ", w.padding,
                              ": pad more, or use a smaller kernel"));
  return places;
}

}  // namespace kiln::detail
