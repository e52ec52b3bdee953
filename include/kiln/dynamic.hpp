// SPDX-License-Identifier: BSL-1.0
// Tensors whose type is known while the program runs, all of it. Each of these headers may be included alone.
#pragma once

#include <kiln/dynamic/tensor.hpp>  // tensor, call, reduce
