// SPDX-License-Identifier: BSL-1.0
// What including everything costs.
#include <kiln/kiln.hpp>
