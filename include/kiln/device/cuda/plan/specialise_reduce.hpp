// SPDX-License-Identifier: BSL-1.0
// The plan of a reduction over the whole domain: a map into one value per block.
#pragma once

#include <cstdlib>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise.hpp>

namespace kiln::cuda {

/// The plan of a reduction over all axes of the domain. Orders them as the first leaf lies in memory, and collapses.
plan plan_reduce(task& job);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/specialise_reduce_impl.hpp>
#endif
