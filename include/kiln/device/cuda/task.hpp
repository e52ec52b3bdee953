// SPDX-License-Identifier: BSL-1.0
// What the CUDA executor is asked to do: a tape, the domain it runs over, and where its leaves and results lie. Strides
// count elements along the axes of the domain; 0 where an operand is broadcast, or a result is a sum over an axis.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
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

struct result_view {
  void* data = nullptr;  ///< null: nobody asked for this result
  dims strides = {};
  dtype type = dtype::float32;
  bool add = false;  ///< add to what is there instead of replacing it
};

struct task {
  tape_view tape = {};
  dims domain = {};
  std::uint32_t reduced_axes = 0;          ///< of a row program: bit i is set if axis i belongs to the row
  bool row_root = false;                   ///< of a row program: the results are one value per row
  std::vector<leaf_view> leaves = {};      ///< per leaf slot
  std::vector<result_view> results = {};   ///< per result of the tape
  std::int64_t part = 0;                   ///< columns only: rows that one block adds up; 0: all of them
  std::int64_t part_stride = 0;            ///< elements between what two parts leave behind, in every result
  const std::uint64_t* numbers = nullptr;  ///< per number slot: a double, or for integers an int64, as bits
};

/// A task over `domain` with one entry for every leaf slot and result of the tape; types are those of the tape.
inline task task_for(const tape_view& tape, const dims& domain) {
  task job{.tape = tape, .domain = domain};
  for (int i = 0; i < tape.size; ++i) {
    if (tape[i].code != opcode::leaf) continue;
    const std::size_t slot = static_cast<std::size_t>(tape[i].slot);
    if (job.leaves.size() <= slot) job.leaves.resize(slot + 1, {.used = false});
    job.leaves[slot] = {.strides = dims::filled(domain.rank(), 0), .type = tape[i].type, .kind = kind_of(tape[i])};
  }
  for (int r = 0; r < tape.result_count; ++r)
    job.results.push_back({.strides = dims::filled(domain.rank(), 0),
                           .type = tape.results[r] < 0 ? dtype::float32 : tape[tape.results[r]].type});
  return job;
}

namespace detail {

template <class F>
void each_operand(task& job, F f) {
  for (leaf_view& x : job.leaves)
    if (x.used) f(x.strides);
  for (result_view& y : job.results)
    if (y.data) f(y.strides);
}
inline void erase_axis(task& job, int axis) {
  each_operand(job, [&](dims& strides) { strides.erase(axis); });
  job.domain.erase(axis);
  const std::uint32_t below = (1u << axis) - 1;
  job.reduced_axes = (job.reduced_axes & below) | ((job.reduced_axes >> 1) & ~below);
}
inline void swap_axes(task& job, int i, int j) {
  auto swap = [&](dims& d) { std::swap(d[i], d[j]); };
  each_operand(job, swap);
  swap(job.domain);
  const std::uint32_t a = job.reduced_axes >> i & 1, b = job.reduced_axes >> j & 1;
  job.reduced_axes = (job.reduced_axes & ~(1u << i) & ~(1u << j)) | (a << j) | (b << i);
}
inline const result_view* first_wanted(const task& job) {
  for (const result_view& y : job.results)
    if (y.data) return &y;
  return nullptr;
}

}  // namespace detail

/// Orders the kept axes so that the first result is written from slow to fast, and brings the axes of the row to the
/// end; axes of each group keep their order otherwise.
inline void order_axes(task& job) {
  const result_view* const first = detail::first_wanted(job);
  auto before = [&](int i, int j) {  // whether axis j, which stands behind i, has to come first
    const bool a = job.reduced_axes >> i & 1, b = job.reduced_axes >> j & 1;
    if (a != b) return a;
    if (!first || a) return false;
    const std::int64_t s = std::abs(first->strides[i]), t = std::abs(first->strides[j]);
    return s != 0 && t > s;
  };
  for (int i = 1; i < job.domain.rank(); ++i)
    for (int j = i; j > 0 && before(j - 1, j); --j) detail::swap_axes(job, j - 1, j);
}

/// Drops axes of size 1 and joins neighbouring axes of one kind (of the row or not) that every operand and result walks
/// through in one stride. Keys hold what is left, never sizes.
inline void collapse(task& job) {
  for (int i = job.domain.rank() - 1; i >= 0; --i)
    if (job.domain[i] == 1) detail::erase_axis(job, i);
  for (int i = job.domain.rank() - 2; i >= 0; --i) {
    if ((job.reduced_axes >> i & 1) != (job.reduced_axes >> (i + 1) & 1)) continue;
    const std::int64_t size = job.domain[i + 1];
    bool joined = true;
    detail::each_operand(job, [&](const dims& s) { joined &= s[i] == s[i + 1] * size; });
    if (!joined) continue;
    detail::each_operand(job, [&](dims& s) { s[i] = s[i + 1]; });
    job.domain[i] *= size;
    const std::uint32_t of_row = job.reduced_axes >> i & 1;
    detail::erase_axis(job, i + 1);
    job.reduced_axes = (job.reduced_axes & ~(1u << i)) | (of_row << i);
  }
}

}  // namespace kiln::cuda
