// SPDX-License-Identifier: BSL-1.0
// Whether a sanitizer looks on: each step takes ten times as long then, so that each path once is enough; and it has
// memory and threads of its own, which some tests would count. g++ and clang++ say so in two ways.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_TEST_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define KILN_TEST_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define KILN_TEST_ADDRESS_SANITIZER 1
#elif !defined(KILN_TEST_ADDRESS_SANITIZER)
#define KILN_TEST_ADDRESS_SANITIZER 0
#endif
#if defined(__SANITIZE_THREAD__)
#define KILN_TEST_THREAD_SANITIZER 1
#elif !defined(KILN_TEST_THREAD_SANITIZER)
#define KILN_TEST_THREAD_SANITIZER 0
#endif

namespace test {

inline constexpr bool address_sanitized = KILN_TEST_ADDRESS_SANITIZER == 1;
inline constexpr bool thread_sanitized = KILN_TEST_THREAD_SANITIZER == 1;
inline constexpr bool sanitized = address_sanitized || thread_sanitized;

}  // namespace test
