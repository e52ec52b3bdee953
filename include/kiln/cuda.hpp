// SPDX-License-Identifier: BSL-1.0
// For users: adds the device Cuda to kiln. Needs no CUDA toolkit to compile, and a program that includes it runs on
// machines without a GPU too: cuda_available() tells.
#pragma once

#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>
#include <kiln/device/cuda/memory/memory_pinned.hpp>
#include <kiln/device/cuda/run/graph.hpp>
#include <kiln/kiln.hpp>
#include <kiln/nn/functional/cuda.hpp>
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/cuda_array.hpp>
#include <kiln/tensor/cuda_indexing.hpp>
#include <kiln/tensor/cuda_kernel.hpp>
#include <kiln/tensor/cuda_source.hpp>
