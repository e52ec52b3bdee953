// SPDX-License-Identifier: BSL-1.0
// For users: adds the device Cuda to kiln. Needs no CUDA toolkit to compile, and a program that includes it runs on
// machines without a GPU too: cuda_available() tells.
#pragma once

#include <kiln/device/cuda/device.hpp>
#include <kiln/device/cuda/event.hpp>
#include <kiln/device/cuda/graph.hpp>
#include <kiln/device/cuda/memory.hpp>
#include <kiln/device/cuda/memory_copy.hpp>
#include <kiln/device/cuda/memory_pinned.hpp>
#include <kiln/device/cuda/stream.hpp>
#include <kiln/kiln.hpp>
#include <kiln/nn/functional/cuda.hpp>
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/cuda_indexing.hpp>
#include <kiln/tensor/cuda_source.hpp>
