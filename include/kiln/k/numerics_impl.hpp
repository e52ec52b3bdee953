// SPDX-License-Identifier: BSL-1.0
// The definitions of numerics.hpp.
#pragma once

#include <kiln/k/counting.hpp>
#include <kiln/k/layer_functions.hpp>
#include <kiln/k/norms.hpp>
#include <kiln/k/numerics.hpp>
#include <kiln/k/running.hpp>
#include <kiln/k/window_functions.hpp>
#include <kiln/k/windows.hpp>

namespace kiln::k {

KILN_INLINE void offer_numerics(registry& r) {
  offer_counting(r);
  offer_layer_functions(r);
  offer_norms(r);
  offer_running(r);
  offer_window_functions(r);
  offer_windows(r);
}

}  // namespace kiln::k
