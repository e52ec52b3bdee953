// SPDX-License-Identifier: BSL-1.0
// Modules from descriptions: make_module("Linear", {{"in_features", 2}, {"out_features", 3}}).
#pragma once

#include <string_view>

#include <kiln/dynamic/containers.hpp>
#include <kiln/dynamic/module.hpp>
#include <kiln/dynamic/options.hpp>

namespace kiln::dynamic {

/// The layer that torch.nn has by this name, with its options by their names there; parameters are float32, or of
/// "dtype". Sequences and other containers: containers.hpp. Throws value_error for an unknown name, an option that the
/// layer does not have or needs and was not given, and otherwise as the layer does.
module make_module(std::string_view type, const options& how = {});

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/modules_impl.hpp>
#endif
