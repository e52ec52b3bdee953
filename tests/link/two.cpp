// SPDX-License-Identifier: BSL-1.0
// The second of two translation units that include every header.
#include "every_header.hpp"

int minor_version_seen_by_two();
int minor_version_seen_by_two() {
  return kiln::version.minor_part;
}
