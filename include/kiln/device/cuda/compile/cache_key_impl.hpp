// SPDX-License-Identifier: BSL-1.0
// The definitions of cache_key.hpp.
#pragma once

#include <kiln/device/cuda/compile/cache_key.hpp>

namespace kiln::cuda {

KILN_INLINE cache_key key_of(const compile_request& request) {
  detail::hasher h;
  h.add(cache_format);
  h.add(request.text);
  h.add(detail::key_of_skeletons().low);
  h.add(detail::key_of_skeletons().high);
  h.add(static_cast<std::uint64_t>(request.architecture));
  h.add(request.options);
  h.add(request.compiler);
  return h.key();
}

KILN_INLINE std::string text_of(const cache_key& key) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint64_t half : {key.high, key.low})
    for (int shift = 60; shift >= 0; shift -= 4) out += digits[half >> shift & 15];
  return out;
}

}  // namespace kiln::cuda
