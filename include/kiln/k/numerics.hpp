// SPDX-License-Identifier: BSL-1.0
// Areas that need nothing of the others: norms, counts, running sums and products, windows, layers as functions. Who
// links kiln::compiled compiles numerics_impl.hpp in a file of its own, once.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k {

void offer_numerics(registry& r);

}  // namespace kiln::k

#ifndef KILN_COMPILED
#include <kiln/k/numerics_impl.hpp>
#endif
