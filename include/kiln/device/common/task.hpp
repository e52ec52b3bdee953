// SPDX-License-Identifier: BSL-1.0
// What a device is asked to do: a program, the domain it runs over, and where its operands and results lie. Strides
// count elements along the axes of the domain; an operand that is broadcast along an axis has stride 0 there, and so
// has a result that is a sum over it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/device/common/program_view.hpp>

namespace kiln::common {

struct operand_view {
  const void* data = nullptr;
  dims strides = {};
  std::size_t size = 0;  ///< bytes of an element
};

struct result_view {
  void* data = nullptr;  ///< null: nobody asked for this result
  dims strides = {};
  dtype type = dtype::float32;
  bool add = false;  ///< add to what is there instead of replacing it
  /// Bytes of an element.
  std::size_t size() const { return size_of(type); }
};

struct task {
  const program_view* program = nullptr;  ///< as the device that runs it has it
  dims domain;
  std::uint32_t reduced_axes = 0;          ///< of a row program: bit i is set if axis i belongs to the row
  operand_view* in = nullptr;              ///< per leaf slot of the program; the device may rewrite them
  result_view* out = nullptr;              ///< per result of the program
  const std::uint64_t* scalars = nullptr;  ///< per number slot, see bits.hpp
};

/// Strides of an operand of the given sizes, right-aligned to a domain: 0 where it is broadcast.
[[gnu::noinline]] inline dims broadcast_strides(const dims& sizes, const dims& strides, const dims& domain) {
  dims result = dims::filled(domain.rank(), 0);
  const int shift = domain.rank() - sizes.rank();
  for (int i = 0; i < sizes.rank(); ++i)
    if (sizes[i] != 1 || domain[i + shift] == 1) result[i + shift] = sizes[i] == 1 ? 0 : strides[i];
  return result;
}

}  // namespace kiln::common
