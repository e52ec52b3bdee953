// SPDX-License-Identifier: BSL-1.0
// From a planned task to the text of its kernel: which printer a plan asks for.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/launch.hpp>
#include <kiln/device/cuda/plan/source.hpp>

namespace kiln::cuda {

/// The kernel that `p` plans for `job`, as text.
source print_kernel(const task& job, const plan& p);
inline source print_kernel(const launch& what) { return print_kernel(what.job, what.how); }

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_kernel_impl.hpp>
#endif
