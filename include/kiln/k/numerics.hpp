// SPDX-License-Identifier: BSL-1.0
// Areas that need nothing of the others: norms, counts, running sums and products, windows, layers as functions. Who
// links kiln::compiled compiles numerics_impl.hpp in a file of its own, once.
#pragma once

#include <string_view>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/dynamic/module.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k {

void offer_numerics(registry& r);

/// Layers that are functions of q's too, with the same options; no value for other names.
/// @throws value_error for options that it does not have
dynamic::module function_layer(std::string_view type, const std::vector<option>& given);

}  // namespace kiln::k

#ifndef KILN_COMPILED
#include <kiln/k/numerics_impl.hpp>
#endif
