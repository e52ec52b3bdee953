// SPDX-License-Identifier: BSL-1.0
// The whole vector layer of the CPU: lanes, memory, conversions, reductions and mathematics.
#pragma once

#include <kiln/device/cpu/simd/accuracy.hpp>
#include <kiln/device/cpu/simd/compare.hpp>
#include <kiln/device/cpu/simd/convert.hpp>
#include <kiln/device/cpu/simd/error_function.hpp>
#include <kiln/device/cpu/simd/exp.hpp>
#include <kiln/device/cpu/simd/gamma.hpp>
#include <kiln/device/cpu/simd/halves.hpp>
#include <kiln/device/cpu/simd/hardware.hpp>
#include <kiln/device/cpu/simd/hyperbolic.hpp>
#include <kiln/device/cpu/simd/inverse_trigonometric.hpp>
#include <kiln/device/cpu/simd/lanes.hpp>
#include <kiln/device/cpu/simd/log.hpp>
#include <kiln/device/cpu/simd/memory.hpp>
#include <kiln/device/cpu/simd/normal.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/simd/polygamma.hpp>
#include <kiln/device/cpu/simd/polynomial.hpp>
#include <kiln/device/cpu/simd/power.hpp>
#include <kiln/device/cpu/simd/reduce.hpp>
#include <kiln/device/cpu/simd/remainder.hpp>
#include <kiln/device/cpu/simd/rounded_here.hpp>
#include <kiln/device/cpu/simd/rounding.hpp>
#include <kiln/device/cpu/simd/shift.hpp>
#include <kiln/device/cpu/simd/stream.hpp>
#include <kiln/device/cpu/simd/transpose.hpp>
#include <kiln/device/cpu/simd/trigonometric.hpp>
#include <kiln/device/cpu/simd/unroll.hpp>
