// SPDX-License-Identifier: BSL-1.0
// What kernels and those who call them agree on: a strip.
#pragma once

#include <cstdint>

#include <kiln/device/common/bits.hpp>

namespace kiln::cpu {

using common::from_bits;
using common::to_bits;

struct compiled;

/// What a kernel is given: pointers to the first element of each operand and result, and how many elements to do.
struct strip {
  const void* const* in = nullptr;         ///< per leaf slot
  const std::int64_t* step = nullptr;      ///< per leaf slot: 1, or 0 for one value that stands for all
  void* const* out = nullptr;              ///< per result
  const bool* add = nullptr;               ///< per result: add to what is there
  bool non_temporal = false;               ///< kind `map`, one result, aligned to a line: write it past the cache
  const std::uint64_t* scalars = nullptr;  ///< per number slot: a double or int64, as bits
  const std::uint64_t* rows = nullptr;     ///< per reduction that an earlier pass finished: a double or int64, as bits
  std::uint64_t* partial = nullptr;        ///< per reduction of this pass: the result so far
  void* const* kept = nullptr;             ///< per kept value: a row of it
  const void* const* finished = nullptr;   ///< kind `rows`: per reduction, its values for consecutive rows
  std::int64_t count = 0;
  const compiled* program = nullptr;  ///< whose kernel it is: what the interpreter's kernels run by
  int pass = 0;                       ///< kind `pass`: which one
};

}  // namespace kiln::cpu
