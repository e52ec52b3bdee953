// SPDX-License-Identifier: BSL-1.0
// For users: products of 8-bit matrices on the devices Cpu and Cuda.
#pragma once

#include <kiln/cuda.hpp>
#include <kiln/float8.hpp>
#include <kiln/tensor/cuda_float8.hpp>
