// SPDX-License-Identifier: BSL-1.0
// kiln for q: include it in the one file of a shared library that exports `fns`, and load that with 2:. The functions
// of the C interface of kdb+ 3 come from the process that loads the library.
#pragma once

#include <kiln/k/entries.hpp>
