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

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise.hpp>
#include <kiln/device/cuda/plan/specialise_transpose.hpp>
#include <kiln/device/cuda/plan/task.hpp>

namespace kiln::cuda {

enum class parameter_kind : std::uint8_t {
  result,         ///< pointer to result `index`
  leaf,           ///< pointer to leaf slot `index`
  number,         ///< the run-time number in slot `index`, in the type `type`
  size,           ///< elements along axis `axis` of the collapsed domain
  steps,          ///< steps along the innermost axis: its size by the plan's step, rounded up; of a map with several at
                  ///< once, how often it takes so many
  divisor,        ///< what divides by the size of axis `axis`; axis -1: by `steps`
  leaf_stride,    ///< of leaf slot `index` along axis `axis`
  result_stride,  ///< of result `index` along axis `axis`
  rows,           ///< number of rows: the product of the axes before the row
  tiles,          ///< columns only: how many blocks lie side by side along the innermost axis
  parts,          ///< columns only: into how many parts the rows are cut
  part,           ///< columns only: rows of a part
  part_stride,    ///< columns only: elements between the results of two parts
  scratch,      ///< pointer to memory for the shares of result `index`, see `shares_of`; of reduce_all, for all of them
  fault,        ///< pointer to a uint32 that the kernel sets to 1 if it divided an integer by zero, to 2 if an
                ///< index was outside its axis
  finished,     ///< pointer to a uint32 that is 0, in which the blocks of a grid count: see run/finished.hpp
  draw_offset,  ///< pointer to a uint64: blocks of random numbers to pass over, see draw_offset.hpp
};

struct parameter {
  parameter_kind kind = parameter_kind::size;
  std::int16_t index = 0, axis = 0;
  dtype type = dtype::int32;  ///< of a number
};

struct source {
  std::string text, name;
  std::vector<parameter> parameters;
  int threads = 256;                                         ///< of a block
  std::size_t shared_bytes = 0;                              ///< dynamic shared memory of a block
  int cluster = 1;                                           ///< blocks of a cluster: sm_90 and newer have them
  bool waits_for_grid = false;  ///< it begins by waiting for the kernel before it: kernels that kiln prints
  int architecture() const { return cluster > 1 ? 90 : 0; }  ///< the oldest that it compiles for, if not all
};

/// What divides 32-bit numbers below 2^31 by n with a multiplication: q = (high half of x * magic + x) >> shift
/// (Granlund and Montgomery 1994). As the parameter holds it: magic below, shift above.
std::uint64_t divisor_bits(std::int64_t n);

namespace detail {

std::uint64_t number_bits(std::uint64_t bits, dtype type);
std::int64_t rows_of(const task& job, const plan& p);
std::int64_t steps_of(const task& job, const plan& p);
std::int64_t tiles_of(const task& job, const plan& p);
std::int64_t part_of(const task& job);
std::int64_t parts_of(const task& job);

}  // namespace detail

/// The values of the parameters for one task that was planned, 8 bytes each, of which a kernel reads as many as the
/// type of the parameter has. `scratch` has a device pointer per result (those with shares), `fault`,
/// `draw_offset` and `finished` are one each.
std::vector<std::uint64_t> arguments_of(const source& s, const plan& p, const task& job,
                                        const std::vector<std::uint64_t>& scratch = {}, std::uint64_t fault = 0,
                                        std::uint64_t draw_offset = 0, std::uint64_t finished = 0);

/// As many whole clusters as that many blocks are, one at least; of other plans a cluster is a block.
inline std::int64_t whole_clusters(const plan& p, std::int64_t blocks) {
  return std::max<std::int64_t>(1, blocks / p.cluster) * p.cluster;
}

/// Rows that one block works on at a time, in a row program.
int rows_per_block(const plan& p);

/// Blocks to launch, `plan::threads` threads each, where `resident` blocks of this kernel run at once on the whole
/// device. Threads walk on by the whole grid until nothing is left, so any number of whole clusters will do.
std::int64_t blocks_for(const plan& p, const task& job, std::int64_t resident);

/// How many shares a row program leaves in scratch memory where it runs in `blocks` blocks, one for each block or
/// cluster: rows of as many values as the row has for results summed across rows, single values for those summed
/// altogether.
std::int64_t shares_of(const plan& p, std::int64_t blocks);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/source_impl.hpp>
#endif
