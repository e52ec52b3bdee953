// SPDX-License-Identifier: BSL-1.0
// What the printer hands to whoever compiles and launches: the text, the name of its kernel, what each parameter is,
// and how many blocks it wants. `arguments_of` fills the parameters for one task, `blocks_for` says how many blocks it
// wants.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <kiln/device/cuda/specialise.hpp>
#include <kiln/device/cuda/task.hpp>

namespace kiln::cuda {

/// Elements along both sides of a tile that is turned in shared memory.
inline constexpr int tile_size = 32;

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
  tiles,          ///< columns only: how many blocks lie side by side along the innermost axis
  parts,          ///< columns only: into how many parts the rows are cut
  part,           ///< columns only: rows of a part
  part_stride,    ///< columns only: elements between the results of two parts
  scratch,        ///< pointer to memory for the shares of result `index`, see `shares_of`
  fault,          ///< pointer to a uint32 that the kernel sets to 1 if it divided an integer by zero, to 2 if an
                  ///< index was outside its axis
  draw_offset,    ///< pointer to a uint64: blocks of random numbers to pass over, see draw_offset.hpp
};

struct parameter {
  parameter_kind kind = parameter_kind::size;
  std::int16_t index = 0, axis = 0;
  dtype type = dtype::int32;  ///< of a number
};

struct source {
  std::string text, name;
  std::vector<parameter> parameters;
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
inline std::int64_t tiles_of(const task& job, const plan& p) {
  return (steps_of(job, p) + 31) / 32;
}
inline std::int64_t part_of(const task& job) {
  return job.part > 0 ? job.part : job.domain[job.domain.rank() - 2];
}
inline std::int64_t parts_of(const task& job) {
  const std::int64_t rows = job.domain[job.domain.rank() - 2], part = part_of(job);
  return part == 0 ? 1 : (rows + part - 1) / part;
}

}  // namespace detail

/// The values of the parameters for one task that was planned, 8 bytes each, of which a kernel reads as many as the
/// type of the parameter has. `scratch` has a device pointer per result (those with shares), `fault` and `draw_offset`
/// are one each.
inline std::vector<std::uint64_t> arguments_of(const source& s, const plan& p, const task& job,
                                               const std::vector<std::uint64_t>& scratch = {}, std::uint64_t fault = 0,
                                               std::uint64_t draw_offset = 0) {
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
      case parameter_kind::tiles:
        value = static_cast<std::uint64_t>(detail::tiles_of(job, p));
        break;
      case parameter_kind::parts:
        value = static_cast<std::uint64_t>(detail::parts_of(job));
        break;
      case parameter_kind::part:
        value = static_cast<std::uint64_t>(detail::part_of(job));
        break;
      case parameter_kind::part_stride:
        value = static_cast<std::uint64_t>(job.part_stride);
        break;
      case parameter_kind::scratch:
        value = scratch.empty() ? 0 : scratch[k];
        break;
      case parameter_kind::fault:
        value = fault;
        break;
      case parameter_kind::draw_offset:
        value = draw_offset;
        break;
    }
    values.push_back(value);
  }
  return values;
}

/// Rows that one block works on at a time, in a row program.
inline int rows_per_block(const plan& p) {
  return p.shape == kernel_shape::warp_per_row ? p.threads / 32 : 1;
}

/// Blocks to launch, `plan::threads` threads each, where `resident` blocks of this kernel run at once on the whole
/// device. Threads walk on by the whole grid until nothing is left, so any number will do.
inline std::int64_t blocks_for(const plan& p, const task& job, std::int64_t resident) {
  std::int64_t wanted = 1;
  const int rank = job.domain.rank();
  auto times_outer = [&](int inner) {
    for (int i = 0; i + inner < rank; ++i) wanted *= job.domain[i];
  };
  switch (p.shape) {
    case kernel_shape::map:
    case kernel_shape::reduce_all:
      wanted = detail::steps_of(job, p);
      times_outer(1);
      wanted = (wanted + p.threads - 1) / p.threads;
      break;
    case kernel_shape::warp_per_row:
    case kernel_shape::block_per_row:
    case kernel_shape::long_rows:
      wanted = (detail::rows_of(job, p) + rows_per_block(p) - 1) / rows_per_block(p);
      break;
    case kernel_shape::columns:
      wanted = detail::tiles_of(job, p) * detail::parts_of(job);
      times_outer(2);
      break;
    case kernel_shape::transpose: {
      auto tiles = [&](int axis) { return (job.domain[axis] + tile_size - 1) / tile_size; };
      wanted = tiles(rank - 1) * tiles(rank - 2);
      times_outer(2);
      break;
    }
  }
  return std::max<std::int64_t>(1, std::min(wanted, resident));
}

/// How many shares a row program leaves in scratch memory where it runs in `blocks` blocks: rows of as many values as
/// the row has for results summed across rows, single values for those summed altogether.
inline std::int64_t shares_of(const plan& p, std::int64_t blocks) {
  return blocks * rows_per_block(p);
}

}  // namespace kiln::cuda
