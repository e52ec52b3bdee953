// SPDX-License-Identifier: BSL-1.0
// From a task to a plan: the facts that types cannot tell (which leaves are the same tensor, how each is walked, what
// is aligned, whether 32 bits count its elements), in a form without sizes and addresses. Tape and plan together name
// the text to print; `plan::key` is the plan as text.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/task.hpp>

namespace kiln::cuda {

/// How a kernel walks an operand along the innermost axis.
enum class access : std::uint8_t {
  unused,       ///< not read, or a result that nobody asked for
  one,          ///< one value for the whole domain
  row,          ///< one value for each run of the innermost axis
  vectors,      ///< neighbours in memory, several moved at once
  each,         ///< neighbours in memory, moved one by one: not aligned for vectors
  strided,      ///< a stride, passed as a parameter
  turned,       ///< neighbours along another axis: read along that one, several at once, a tile at a time
  turned_each,  ///< ... one by one: not aligned for vectors
};

/// Where the threads that hold a row have their part of a leaf's row.
enum class row_place : std::uint8_t {
  registers,  ///< loaded as a whole before the first pass
  shared,     ///< shared memory, from the first pass that reads it
  ahead,      ///< registers, filled from shared memory: the next row is copied there while this one is worked on
  memory,     ///< nowhere: each pass that needs it reads it, mostly from a cache
};

struct operand_plan {
  access how = access::unused;
  std::uint8_t axes = 0;  ///< the axes before the innermost along which it moves, as bits
  row_place kept = row_place::registers;
  bool operator==(const operand_plan&) const = default;
};

/// What a result narrower than the domain adds up: gradients of leaves that were broadcast.
enum class summed : std::uint8_t {
  nothing,
  along_row,    ///< one value per row: added up by whoever holds the row
  across_rows,  ///< one value per place in the row: added up by each thread, then, over scratch memory, by another
                ///< kernel
  everything,   ///< one value
};

enum class kernel_shape : std::uint8_t {
  map,              ///< every element by itself
  warp_per_row,     ///< a row program whose rows a warp, or some lanes of one, hold in registers
  block_per_row,    ///< ... a block holds in registers
  cluster_per_row,  ///< ... several blocks hold together, which reach each other's shared memory: sm_90 and newer
  long_rows,        ///< ... a block walks through once per pass
  reduce_all,       ///< one value of everything: partial results per block, which the last block folds
  columns,          ///< rows that lie across memory, reduced down
  transpose,        ///< a map with leaves whose fast axis is another one, turned in shared memory
};

/// The name of a shape, as it stands in keys and kernel names.
constexpr const char* name(kernel_shape shape) {
  switch (shape) {
    case kernel_shape::map:
      return "map";
    case kernel_shape::warp_per_row:
      return "warp_per_row";
    case kernel_shape::block_per_row:
      return "block_per_row";
    case kernel_shape::cluster_per_row:
      return "cluster_per_row";
    case kernel_shape::long_rows:
      return "long_rows";
    case kernel_shape::reduce_all:
      return "reduce_all";
    case kernel_shape::columns:
      return "columns";
    case kernel_shape::transpose:
      break;
  }
  return "transpose";
}

/// Blocks that every device of sm_90 and newer takes as a cluster.
inline constexpr int most_cluster = 8;

/// Blocks of 256 threads that fill a multiprocessor, `full_blocks` in kernels/map.cuh: 8, or 6 of some.
inline constexpr int all_blocks = 8;

struct plan {
  kernel_shape shape = kernel_shape::map;
  int rank = 1;                           ///< axes of the collapsed domain
  int row_axes = 0;                       ///< how many of them, at the end, make up a row
  int step = 1;                           ///< neighbours along the innermost axis that a thread takes at once
  bool wide = false;                      ///< 64-bit indices
  bool apart = true;                      ///< no result shares memory with a leaf or another result
  int threads = 256;                      ///< per block
  int least_blocks = 0;                   ///< that a multiprocessor is to hold: bounds registers; follows from the rest
  int lanes = 32;                         ///< of warp_per_row: those that hold a row
  int cluster = 1;                        ///< of cluster_per_row: blocks that hold a row
  int held = 0;                           ///< of row programs in registers: steps of a row that one thread holds
  bool recompute = false;                 ///< row programs: no pass leaves values of its own to a later one
  std::size_t shared_bytes = 0;           ///< dynamic shared memory of a block
  int at_once = 1;                        ///< steps of a thread whose loads are under way together: of reduce_all, and
                                          ///< of a map that takes rows, in one row
  int tile = 0;                           ///< transpose: elements along both sides of a tile
  bool reduction_rooted = false;          ///< the results are one value per row
  bool cut = false;                       ///< columns: the rows are cut into parts, each with results of its own
  bool even = false;                      ///< row programs, reduce_all: a row is whole steps, none ends within one
  bool filled = false;                    ///< row programs in registers: a row is exactly the steps that threads hold
  std::vector<operand_plan> leaves = {};  ///< per slot
  std::vector<std::int16_t> same_as = {};  ///< per slot: the first slot that holds the same tensor
  std::vector<operand_plan> results = {};  ///< per result
  std::vector<summed> sums = {};           ///< per result, of row programs
  std::vector<dtype> stores = {};          ///< per result: the type it is stored as
  std::vector<bool> adds = {};             ///< per result

  /// The plan as text: "map step 4 int32 x0 vectors x1 row(0) y0 vectors". Equal plans have equal keys.
  std::string key() const;
};

namespace detail {

inline const char* name(access how) {
  constexpr const char* names[] = {"unused", "one", "row", "vectors", "each", "strided", "turned", "turned each"};
  return names[static_cast<std::size_t>(how)];
}
inline const char* name(summed what) {
  constexpr const char* names[] = {"", " summed along the row", " summed across rows", " summed"};
  return names[static_cast<std::size_t>(what)];
}
std::string text_of(const operand_plan& x);

bool aligned(const void* data, const dims& strides, std::size_t size, int step);
operand_plan planned(const void* data, const dims& strides, std::size_t size, int step);

/// The elements from the first to the last in memory that an operand reaches, as bytes.
struct reach {
  std::intptr_t low = 0, high = 0;
  bool meets(const reach& other) const { return low < other.high && other.low < high; }
};
reach reach_of(const void* data, const dims& strides, const dims& domain, std::size_t size);

void find_same_leaves(const task& job, plan& p);
bool all_apart(const task& job);
/// 32 bits hold every index and offset, with room for a last step beyond the end.
bool needs_wide(const task& job);

/// Elements a thread takes at once: 16 bytes of the widest operand whose neighbours lie side by side, lowered until the
/// first such result is aligned. The other operands are looked at one by one: none spoils the rest.
int step_of(const task& job, int most);

void plan_operands(const task& job, plan& p);

/// Which instructions give a value for each element of a step, and not one for all of them.
std::vector<bool> moving_values(const tape_view& t, const plan& p);
/// Whether the op at i takes elements that are neighbours for the elements of a step: rows of a table.
bool takes_neighbours(const tape_view& t, const plan& p, const std::vector<bool>& moving, int i);

/// Ops of a tape, expensive ones by four.
int work_of(const tape_view& t);
/// Short enough for a bound on registers that its kind of kernel stands just over.
inline constexpr int light_work = 8;
/// How many neighbours a thread may take: fewer where each keeps many values in registers.
int most_neighbours(const tape_view& t);

}  // namespace detail

/// The plan of a map. Orders and collapses the axes of `job`; what it leaves in `job.domain` has at least one axis.
/// `most` limits how many neighbours one thread takes (long programs would not fit the registers).
plan plan_map(task& job, int most = 16);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/specialise_impl.hpp>
#endif
