// SPDX-License-Identifier: BSL-1.0
// GPUs for dynamic tensors: a file of the program that includes this makes `device_kind::cuda` one of their devices. A
// program that runs without a GPU runs as before; cuda_available() and cuda_devices() tell.
#pragma once

#include <kiln/dynamic/device.hpp>

namespace kiln::dynamic {

namespace graph {
/// What CUDA does for dynamic tensors.
const device_driver& cuda_functions();

inline const bool with_cuda = (installed_cuda.store(&cuda_functions(), std::memory_order_relaxed), true);
}  // namespace graph

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/cuda_impl.hpp>
#endif
