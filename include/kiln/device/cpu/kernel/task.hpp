// SPDX-License-Identifier: BSL-1.0
// What a driver is asked to do: a program, the domain it runs over, and where its operands and results lie. Strides
// count elements along the axes of the domain; an operand that is broadcast along an axis has stride 0 there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <kiln/core/dims.hpp>
#include <kiln/device/cpu/kernel/compiled.hpp>

namespace kiln::cpu {

/// Cheap operations that are worth a thread of their own.
inline constexpr std::int64_t work_per_thread = 131072;

struct operand_view {
  const void* data = nullptr;
  dims strides;
  std::size_t size = 0;  ///< bytes of an element
};

struct result_view {
  void* data = nullptr;
  dims strides;
  std::size_t size = 0;
  dtype type = dtype::float32;
  bool add = false;  ///< add to what is there instead of replacing it
};

struct task {
  const compiled* program = nullptr;
  dims domain;
  std::uint32_t reduced_axes = 0;  ///< of a row program: bit i is set if axis i belongs to the row
  operand_view* in = nullptr;      ///< per leaf slot of the program; the driver may rewrite them
  result_view* out = nullptr;      ///< per result of the program
  const std::uint64_t* scalars = nullptr;
};

/// Strides of an operand of the given sizes, right-aligned to a domain: 0 where it is broadcast.
[[gnu::noinline]] inline dims broadcast_strides(const dims& sizes, const dims& strides, const dims& domain) {
  dims result = dims::filled(domain.rank(), 0);
  const int shift = domain.rank() - sizes.rank();
  for (int i = 0; i < sizes.rank(); ++i)
    if (sizes[i] != 1 || domain[i + shift] == 1) result[i + shift] = sizes[i] == 1 ? 0 : strides[i];
  return result;
}

}  // namespace kiln::cpu
