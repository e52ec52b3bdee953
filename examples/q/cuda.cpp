// SPDX-License-Identifier: BSL-1.0
// GPUs for kilnq: found when the library is used, and not needed for it.
#include <kiln/dynamic/cuda.hpp>
