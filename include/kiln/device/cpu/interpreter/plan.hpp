// SPDX-License-Identifier: BSL-1.0
// How the interpreter runs a tape: for each kernel of a program the list of strip functions to call, and where each
// finds its operands. A plan is made once per program and is plain data; running it is in run_impl.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/interpreter/strip_function.hpp>
#include <kiln/tape/roles.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {
namespace interpreter {

/// Everything that a kernel touches has a place: a buffer of a block's elements, an operand or a result where it lies,
/// or a register's worth of one value.
struct place {
  const void* fixed = nullptr;  ///< a constant, in the plan's own memory
  std::int64_t offset = 0;      ///< into the memory of a run, if not
  std::int64_t mask = 0;
};
struct leaf_use {
  std::int16_t place = 0, slot = 0;
  bool once = false;  ///< one value stands for all, whatever its stride
  std::size_t size = 0;
  std::int64_t tail = 0;  ///< memory for the elements of an unfinished granule
};
struct number_use {
  std::int16_t place = 0, index = 0;
  spread_function spread = nullptr;
  bool of_row = false;  ///< a finished reduction, not a scalar
};
/// A row of memory between passes, or of finished reductions.
struct row_use {
  enum class how : std::uint8_t { kept_before, kept_here, finished } how = how::finished;
  std::int16_t place = 0, index = 0;
  std::size_t size = 0;
  std::int64_t tail = 0;
};
struct result_use {
  std::int16_t index = 0, value = 0;          ///< which result, and the place of its values
  strip_function store = nullptr;             ///< from the value's type to the stored one
  strip_function to_stored = nullptr;         ///< to compute_type of the stored one, if the value's is another
  strip_function add = nullptr;               ///< null: never added to what is there
  std::size_t size = 0;                       ///< of a stored element
  bool direct = false, non_temporal = false;  ///< the step that makes it can write it where it belongs
  bool made_last = false;                     ///< nothing is read after the step that makes it
  bool shared = false;                        ///< another result has the same value
  std::int64_t tail = 0;
};
struct fold_use {
  std::int16_t place = 0, reduction = 0;
  std::int16_t factor = -1;  ///< what `place` is multiplied with, or -1
  fold_functions functions;
};

struct kernel_plan {
  std::vector<place> places;
  std::vector<leaf_use> leaves;
  std::vector<number_use> numbers;
  std::vector<row_use> rows;
  std::vector<step> once, each;
  std::vector<result_use> results;
  std::vector<fold_use> folds;
  int side_by_side = 1;
  std::int64_t unit = 2;          ///< every step takes a multiple of so many elements
  std::int64_t granule = 2;       ///< a multiple of unit, and of what a fold takes at a time
  std::int64_t block = 256;       ///< elements at a time, all of whose values stay in first-level cache
  std::int64_t conversions = -1;  ///< memory for results on their way to another type
  std::size_t bytes = 0;          ///< memory of a run
};

/// A program with all that it points to.
struct program_plan {
  std::vector<instruction> code;
  std::vector<std::int16_t> results;
  std::vector<dtype> stores, kept_types;
  std::vector<reduction_facts> reduced;
  std::vector<draw_slot> draws;
  std::vector<pass_kernel> pass_kernels;
  std::vector<kernel_plan> passes;
  kernel_plan map, rows, operands;
  std::vector<std::array<unsigned char, static_cast<std::size_t>(vector_bytes)>> constants;
  compiled program;
};

/// Plans the run of a tape, whose composite ops are written out. Throws value_error for a tape that has more tensors
/// than a kernel takes, or an op that no strip function computes.
void make_plan(program_plan& plan, const tape_view& tape, const dtype* stores, bool reduction_rooted);

/// Runs one kernel over a strip.
void run_kernel(const kernel_plan& plan, const strip& s);

}  // namespace interpreter
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
