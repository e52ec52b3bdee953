// SPDX-License-Identifier: BSL-1.0
// A tape with its kernels, as plain data: what the drivers take, so that they are ordinary functions. The same for
// every instruction set, so that kernels of one may be run by drivers of another.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <kiln/core/philox.hpp>
#include <kiln/device/common/task.hpp>
#include <kiln/device/cpu/kernel/strip.hpp>

namespace kiln::cpu {

using common::broadcast_strides;
using common::max_slots;
using common::operand_view;
using common::result_view;
using common::task;

/// Cheap operations that are worth a thread of their own.
inline constexpr std::int64_t work_per_thread = 131072;

/// A slot whose elements are drawn: what, and which numbers hold the seed and the first block of the stream.
struct draw_slot {
  std::int16_t slot = -1, seed = -1, first = -1;
  std::size_t size = 0;  ///< bytes of a number
  /// Writes the numbers at `position` of the stream and so on, each `stride` positions after the one before.
  void (*fill)(const random_stream& stream, std::uint64_t position, std::int64_t stride, std::int64_t n,
               void* to) = nullptr;
};

/// How a reduction is folded across rows, element by element: for reducing over an axis that is not the fastest.
struct vertical_fold {
  void (*reset)(void* partial, std::int64_t n) = nullptr;
  /// Folds `rows` rows of values, `stride` elements apart, into the partial row.
  void (*add)(void* partial, const void* values, std::int64_t stride, std::int64_t rows, std::int64_t n) = nullptr;
  void (*clear)(std::uint64_t* total, std::int64_t n) = nullptr;
  void (*flush)(std::uint64_t* total, void* partial, std::int64_t n) = nullptr;  ///< into double or int64, and reset
  void (*join)(std::uint64_t* total, const std::uint64_t* other, std::int64_t n) = nullptr;
  void (*finish)(void* values, const std::uint64_t* total, std::int64_t n) = nullptr;
};

struct reduction_facts {
  dtype type = dtype::float32;  ///< what it is computed in
  std::uint64_t identity = 0;   ///< a double or int64, as bits
  bool has_identity = true;
  const char* name = "";
  int operand_slot = -1;                                          ///< the leaf that is reduced as it is, or -1
  int pass = 0;                                                   ///< the pass over the row that does it
  std::uint64_t (*join)(std::uint64_t, std::uint64_t) = nullptr;  ///< two partial results, as a double or int64
  vertical_fold vertical;
};

struct pass_kernel {
  void (*run)(const strip&) = nullptr;
};

/// A program with the kernels that the drivers run it by.
struct compiled : common::program_view {
  int passes = 0, kept = 0;
  std::int64_t pass_length = 4096;  ///< longest strip that a pass sums in the element type; strips are joined in double
  int cost = 1;                     ///< rough work per element, in cheap operations
  int draw_count = 0;
  const draw_slot* draws = nullptr;  ///< the slots whose elements are drawn, not read
  constexpr const draw_slot* draws_of(int slot) const {
    for (int d = 0; d < draw_count; ++d)
      if (draws[d].slot == slot) return &draws[d];
    return nullptr;
  }
  const reduction_facts* reduced = nullptr;
  const dtype* kept_types = nullptr;
  void (*map)(const strip&) = nullptr;
  const pass_kernel* pass = nullptr;  ///< `passes` of them
  void (*rows)(const strip&) = nullptr;
  void (*operands)(const strip&) = nullptr;  ///< reduction_rooted with one pass only
  const void* plan = nullptr;                ///< what the interpreter's kernels follow
};

/// The program of a task as this device has it: tasks of others never come here.
inline const compiled& program_of(const task& job) {
  return static_cast<const compiled&>(*job.program);
}

/// Stores what a reduction of this type found, which comes as a double or int64, as the type that it is computed in.
[[gnu::noinline]] inline void put_bits(void* to, dtype type, std::uint64_t bits) {
  if (compute_type(type) == dtype::float32) {
    const float value = from_bits<float>(bits);
    std::memcpy(to, &value, sizeof(value));
    return;
  }
  if (type == dtype::boolean) bits = bits != 0;
  const std::size_t size = size_of(type),
                    skipped = std::endian::native == std::endian::little ? 0 : sizeof(bits) - size;
  std::memcpy(to, reinterpret_cast<const char*>(&bits) + skipped, size);
}

}  // namespace kiln::cpu
