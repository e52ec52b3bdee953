// SPDX-License-Identifier: BSL-1.0
// For users: products of 8-bit matrices, float8 with scales and int8 with sums in int32. With the device Cuda, include
// kiln/cuda_float8.hpp, which is this and cuBLASLt's.
#pragma once

#include <kiln/kiln.hpp>
#include <kiln/tensor/float8.hpp>
