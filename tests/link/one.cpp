// SPDX-License-Identifier: BSL-1.0
// The first of two translation units that include every header.
#include "every_header.hpp"
