// SPDX-License-Identifier: BSL-1.0
// The consumer that every way of getting kiln must be able to build: it includes, computes and exits with 0.
#if __has_include(<kiln/kiln.hpp>)
#include <kiln/kiln.hpp>
#else
#include <kiln/core/version.hpp>
#endif

int main() { return kiln::version.major_part == KILN_VERSION_MAJOR ? 0 : 1; }
