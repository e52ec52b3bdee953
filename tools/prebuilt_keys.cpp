// SPDX-License-Identifier: BSL-1.0
// Prints the keys of the programs that src/prebuilt.hpp lists, as the header that holds them has them.
#include <cinttypes>
#include <cstdio>

#include "../src/prebuilt.hpp"

int main() {
  for (const std::uint64_t key : kiln::prebuilt::all_programs::keys) std::printf("    0x%016" PRIx64 ",\n", key);
}
