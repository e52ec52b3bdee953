// SPDX-License-Identifier: BSL-1.0
// The version of the library: the one place where it is written. CMake reads these three lines; programs that must
// compile against several versions test them in the preprocessor, which is why they are macros.
#pragma once

// A compiler goes on after #error, with thousands of lines about what follows; a file that is not there stops it.
#if __cplusplus < 202002L
#error "kiln needs C++20: compile with -std=c++20"
#include "kiln needs C++20: compile with -std=c++20"
#endif

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "kiln: compile without -ffast-math and -ffinite-math-only: nan and infinity have a meaning in tensors"
#endif

// What goes before a definition that is no template: `inline` where the headers are all there is; nothing where the
// library kiln::compiled holds the one definition and other files see a declaration.
#ifdef KILN_COMPILED
#define KILN_INLINE
#else
#define KILN_INLINE inline
#endif

namespace kiln {

/// The version as three numbers that compare by name: major, then minor, then patch.
struct version_number {
  int major_part, minor_part, patch_part;
};

/// The version of the headers in use, as ordinary C++.
inline constexpr version_number version{KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH};

}  // namespace kiln
