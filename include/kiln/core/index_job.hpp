// SPDX-License-Identifier: BSL-1.0
// What gather, scatter and their relatives ask of a device: to walk over positions, and at each to move one element
// between the operand that is walked straight and the one whose place along an axis an index names.
#pragma once

#include <cstdint>

#include <kiln/core/dims.hpp>
#include <kiln/core/error.hpp>

namespace kiln {

/// What is done with the element at each position.
enum class index_move : std::uint8_t {
  gather,       ///< values = table[index]
  scatter,      ///< table[index] = values; of several values for one place, any one (on the processor the last)
  scatter_add,  ///< table[index] += values
};

/// Strides are in elements, one per axis of the domain. Position p names the element of `values` at p, that of `index`
/// at p, and that of `table` at p with the index in place of the position along one axis.
struct index_job {
  index_move move = index_move::gather;
  dims domain;
  const void* index = nullptr;
  dims index_strides;
  bool wide = true;  ///< the index is int64, else int32
  void* table = nullptr;
  dims table_strides;  ///< 0 along the indexed axis
  std::int64_t axis_stride = 0, axis_size = 0;
  void* values = nullptr;
  dims value_strides;
};

/// For an index that names no place along an axis. PyTorch's functions do not count from the end either.
[[noreturn]] inline void throw_index(std::int64_t index, std::int64_t size) {
  throw index_error(message("index ", index, " is outside [0, ", size, "): check the indices"));
}

}  // namespace kiln
