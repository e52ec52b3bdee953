// SPDX-License-Identifier: BSL-1.0
// Whether a sanitizer looks on: then each path once is enough, since every step takes ten times as long.
#pragma once

namespace test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace test
