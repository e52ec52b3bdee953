// SPDX-License-Identifier: BSL-1.0
// What CUDA does for tensors whose type is known at run time: a unit of its own, for programs that ask for it.
#define KILN_INTERPRET
#include <kiln/dynamic/cuda_impl.hpp>
