// SPDX-License-Identifier: BSL-1.0
// Optimizers from descriptions: make_optimizer("Adam", parameters, {{"lr", 1e-3}}).
#pragma once

#include <string_view>
#include <vector>

#include <kiln/dynamic/optimizer.hpp>
#include <kiln/dynamic/options.hpp>

namespace kiln::dynamic {

/// The optimizer of this name over parameters that require grad, with its options by their names in torch.optim; betas
/// are "beta1" and "beta2". Parameters are all float32 or all float64. Throws value_error for an unknown name or
/// option, no parameter, or one that requires no grad; dtype_error for parameters of another type.
optimizer make_optimizer(std::string_view name, const std::vector<tensor>& parameters, const options& how = {});

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/optimizers_impl.hpp>
#endif
