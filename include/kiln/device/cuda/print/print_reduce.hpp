// SPDX-License-Identifier: BSL-1.0
// Prints reductions over the whole domain: a map into one value per block, which the block that ends last folds, always
// in the order of the blocks. For tapes of one pass.
#pragma once

#include <string>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise_reduce.hpp>
#include <kiln/device/cuda/print/print_fold.hpp>
#include <kiln/device/cuda/print/print_map.hpp>

namespace kiln::cuda {

namespace detail {

/// What a thread does in its steps over the domain: `inside` for each element, k, of each.
void reduce_steps(lines& out, const walk& at, const plan& p, std::string_view index, const lines& inside);

}  // namespace detail

/// Prints the reduction that `p` plans for `job`, both as plan_reduce left them.
source print_reduce(const task& job, const plan& p);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_reduce_impl.hpp>
#endif
