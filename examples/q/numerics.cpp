// SPDX-License-Identifier: BSL-1.0
// Norms, counts, windows and layers as functions, apart from the rest of kilnq.
#include <kiln/k/numerics_impl.hpp>
