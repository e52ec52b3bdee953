// SPDX-License-Identifier: BSL-1.0
// For users: adds the device EigenCpu to kiln, whose expressions run as fused Eigen expressions, and exchanges tensors
// with Eigen's objects. Needs Eigen 3.4 or newer.
#pragma once

#include <kiln/kiln.hpp>
#include <kiln/tensor/eigen.hpp>
#include <kiln/tensor/eigen_cpu.hpp>
