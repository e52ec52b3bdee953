// SPDX-License-Identifier: BSL-1.0
// A translation unit that includes every header.
#include "every_header.hpp"
