// SPDX-License-Identifier: BSL-1.0
// The second of two translation units that include every header.
#include "every_header.hpp"
