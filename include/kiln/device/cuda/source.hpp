// SPDX-License-Identifier: BSL-1.0
// What the printer hands to whoever compiles and launches: the text, the name of its kernel, what each parameter is,
// and how many blocks it wants. `arguments_of` fills the parameters for one task.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <kiln/device/cuda/specialise.hpp>
#include <kiln/device/cuda/task.hpp>

namespace kiln::cuda {

enum class parameter_kind : std::uint8_t {
  result,         ///< pointer to result `index`
  leaf,           ///< pointer to leaf slot `index`
  number,         ///< the run-time number in slot `index`, in the type `type`
  size,           ///< elements along axis `axis` of the collapsed domain
  steps,          ///< steps along the innermost axis: its size by the plan's step, rounded up
  divisor,        ///< what divides by the size of axis `axis`; axis -1: by `steps`
  leaf_stride,    ///< of leaf slot `index` along axis `axis`
  result_stride,  ///< of result `index` along axis `axis`
  rows,           ///< number of rows: the product of the axes before the row
  scratch,        ///< pointer to memory for the shares of result `index`, see `shares_of`
  fault,          ///< pointer to a uint32 that the kernel sets to 1 if it divided an integer by zero
};

struct parameter {
  parameter_kind kind = parameter_kind::size;
  std::int16_t index = 0, axis = 0;
  dtype type = dtype::int32;  ///< of a number
};

/// How many blocks a kernel wants; each thread walks on by the whole grid until nothing is left.
enum class grid_kind : std::uint8_t {
  steps,  ///< one thread per step of every run of the innermost axis
  rows,   ///< `source::rows_per_block` rows per block
  tiles,  ///< a block per tile of `source::tile` by `source::tile` elements of the last two axes
  fixed,  ///< `source::blocks` blocks
};

struct source {
  std::string text, name;
  std::vector<parameter> parameters;
  int threads = 256;  ///< per block
  grid_kind grid = grid_kind::steps;
  int rows_per_block = 1, tile = 32, blocks = 1;
};

/// What divides 32-bit numbers below 2^31 by n with a multiplication: q = (high half of x * magic + x) >> shift
/// (Granlund and Montgomery 1994). As the parameter holds it: magic below, shift above.
inline std::uint64_t divisor_bits(std::int64_t n) {
  const auto by = static_cast<std::uint64_t>(n);
  std::uint64_t shift = 0;
  while ((std::uint64_t{1} << shift) < by) ++shift;
  const std::uint64_t magic = (((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by)) / by) + 1;
  return magic | shift << 32;
}

namespace detail {

inline std::uint64_t number_bits(std::uint64_t bits, dtype type) {
  if (compute_type(type) == dtype::float32)
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  return bits;  // a double is itself; of an int64 the low bytes are the narrower integer
}
inline std::int64_t rows_of(const task& job, const plan& p) {
  std::int64_t rows = 1;
  for (int i = 0; i < job.domain.rank() - p.row_axes; ++i) rows *= job.domain[i];
  return rows;
}
inline std::int64_t steps_of(const task& job, const plan& p) {
  return (job.domain.back() + p.step - 1) / p.step;
}

}  // namespace detail

/// The values of the parameters for one task that was planned, 8 bytes each, of which a kernel reads as many as the
/// type of the parameter has. `scratch` has a device pointer per result (those with shares), `fault` is one.
inline std::vector<std::uint64_t> arguments_of(const source& s, const plan& p, const task& job,
                                               const std::vector<std::uint64_t>& scratch = {},
                                               std::uint64_t fault = 0) {
  std::vector<std::uint64_t> values;
  values.reserve(s.parameters.size());
  auto pointer = [](const void* at) { return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at)); };
  for (const parameter& x : s.parameters) {
    const std::size_t k = static_cast<std::size_t>(x.index);
    std::uint64_t value = 0;
    switch (x.kind) {
      case parameter_kind::result:
        value = pointer(job.results[k].data);
        break;
      case parameter_kind::leaf:
        value = pointer(job.leaves[k].data);
        break;
      case parameter_kind::number:
        value = detail::number_bits(job.numbers[k], x.type);
        break;
      case parameter_kind::size:
        value = static_cast<std::uint64_t>(job.domain[x.axis]);
        break;
      case parameter_kind::steps:
        value = static_cast<std::uint64_t>(detail::steps_of(job, p));
        break;
      case parameter_kind::divisor: {
        const std::int64_t n = x.axis < 0 ? detail::steps_of(job, p) : job.domain[x.axis];
        value = p.wide ? static_cast<std::uint64_t>(n) : divisor_bits(n);
        break;
      }
      case parameter_kind::leaf_stride:
        value = static_cast<std::uint64_t>(job.leaves[k].strides[x.axis]);
        break;
      case parameter_kind::result_stride:
        value = static_cast<std::uint64_t>(job.results[k].strides[x.axis]);
        break;
      case parameter_kind::rows:
        value = static_cast<std::uint64_t>(detail::rows_of(job, p));
        break;
      case parameter_kind::scratch:
        value = scratch.empty() ? 0 : scratch[k];
        break;
      case parameter_kind::fault:
        value = fault;
        break;
    }
    values.push_back(value);
  }
  return values;
}

/// Blocks to launch where `resident` blocks of this kernel run at once on the whole device.
inline std::int64_t blocks_for(const source& s, const plan& p, const task& job, std::int64_t resident) {
  std::int64_t wanted = s.blocks;
  switch (s.grid) {
    case grid_kind::steps: {
      std::int64_t steps = detail::steps_of(job, p);
      for (int i = 0; i + 1 < job.domain.rank(); ++i) steps *= job.domain[i];
      wanted = (steps + s.threads - 1) / s.threads;
      break;
    }
    case grid_kind::rows:
      wanted = (detail::rows_of(job, p) + s.rows_per_block - 1) / s.rows_per_block;
      break;
    case grid_kind::tiles: {
      auto tiles = [&](int axis) { return (job.domain[axis] + s.tile - 1) / s.tile; };
      const int rank = job.domain.rank();
      wanted = tiles(rank - 1) * tiles(rank - 2);
      for (int i = 0; i + 2 < rank; ++i) wanted *= job.domain[i];
      break;
    }
    case grid_kind::fixed:
      return wanted;
  }
  return std::max<std::int64_t>(1, std::min(wanted, resident));
}

}  // namespace kiln::cuda
