// SPDX-License-Identifier: BSL-1.0
// The first of two translation units that include every header.
#include "every_header.hpp"

int minor_version_seen_by_two();

int main() {
  return minor_version_seen_by_two() == kiln::version.minor_part ? 0 : 1;
}
