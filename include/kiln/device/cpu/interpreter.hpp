// SPDX-License-Identifier: BSL-1.0
// The interpreted executor: a tape, also one that is made at run time, runs instruction by instruction over strips in
// first-level cache, through one table of strip functions by op and type. It fills a `compiled` for the drivers, runs
// whatever the compiled executor runs, and gives the same bits.
#pragma once

#include <kiln/device/cpu/interpreter/interpreted.hpp>

#ifndef KILN_COMPILED
#include <kiln/device/cpu/interpreter/interpreted_impl.hpp>
#endif
