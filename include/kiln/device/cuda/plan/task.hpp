// SPDX-License-Identifier: BSL-1.0
// A task as planning takes it apart (device/common/task.hpp says what devices are asked for): with places of its own
// for what it reads and writes, and what the tape says of each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/common/task.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tape/levels.hpp>
#include <kiln/tape/program.hpp>

namespace kiln::cuda {

struct leaf_view {
  const void* data = nullptr;
  dims strides = {};
  dtype type = dtype::float32;
  bool used = true;  ///< false for a slot that no instruction of the tape reads
  leaf_kind kind = leaf_kind::element;
  std::int64_t moved = 0;  ///< bytes by which `data` lies beyond where the task that this is a part of has it
  /// Whether elements lie there that could be read beforehand.
  bool is_memory() const { return kind == leaf_kind::element || kind == leaf_kind::row; }
};

using common::result_view;

struct task {
  tape_view tape = {};
  dims domain = {};
  std::uint32_t reduced_axes = 0;          ///< of a row program: bit i is set if axis i belongs to the row
  bool reduction_rooted = false;           ///< of a row program: the results are one value per row
  std::vector<leaf_view> leaves = {};      ///< per leaf slot
  std::vector<result_view> results = {};   ///< per result of the tape
  std::int64_t part = 0;                   ///< columns only: rows that one block adds up; 0: all of them
  std::int64_t part_stride = 0;            ///< elements between what two parts leave behind, in every result
  const std::uint64_t* numbers = nullptr;  ///< per number slot: a double, or for integers an int64, as bits
};

/// A task over `domain` with one entry for every leaf slot and result of the tape; types are those of the tape.
task task_for(const tape_view& tape, const dims& domain);
/// Makes `to` what a device is asked to do. Its memory serves again, so that a thread that keeps one allocates nothing.
void take(task& to, const common::task& asked);

namespace detail {

template <class F>
void each_operand(task& job, F f) {
  for (leaf_view& x : job.leaves)
    if (x.used) f(x.strides);
  for (result_view& y : job.results)
    if (y.data) f(y.strides);
}
/// Whether instruction i folds a row into one value.
bool reduces(const tape_view& t, int i);
/// Whether instruction i costs more than keeping its value does.
bool is_expensive(const tape_view& t, int i);
/// After how many reductions each value of a tape can be had.
std::vector<std::int16_t> phases_of(const tape_view& t);
/// Whether no reduction waits for another.
bool one_pass(const tape_view& t);
tape_view view_of(const program& p);
void erase_axis(task& job, int axis);
void swap_axes(task& job, int i, int j);
inline const result_view* first_wanted(const task& job) {
  for (const result_view& y : job.results)
    if (y.data) return &y;
  return nullptr;
}

}  // namespace detail

/// Orders the kept axes so that the first result is written from slow to fast, and brings the axes of the row to the
/// end; axes of each group keep their order otherwise.
void order_axes(task& job);

/// Drops axes of size 1 and joins neighbouring axes of one kind (of the row or not) that every operand and result walks
/// through in one stride. Keys hold what is left, never sizes.
void collapse(task& job);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/task_impl.hpp>
#endif
