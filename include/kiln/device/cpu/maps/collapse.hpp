// SPDX-License-Identifier: BSL-1.0
// Fewer, longer axes: neighbours that every operand walks through in one stride become one axis. Most domains end up
// with one axis, and the inner loop runs over all of it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <kiln/device/cpu/kernel/compiled.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

template <class F>
inline void each_operand(task& job, F f) {
  for (int k = 0; k < job.program->slots; ++k)
    if (job.in[k].data) f(job.in[k].strides);
  for (int r = 0; r < job.program->results; ++r)
    if (job.out[r].data) f(job.out[r].strides);
}

[[gnu::cold, gnu::noinline]] inline void erase_axis(task& job, int axis) {
  each_operand(job, [&](dims& strides) { strides.erase(axis); });
  job.domain.erase(axis);
  const std::uint32_t below = (1u << axis) - 1;
  job.reduced_axes = (job.reduced_axes & below) | ((job.reduced_axes >> 1) & ~below);
}

/// One axis of size 1, contiguous for all: a single element is a row like any other.
inline void insert_axis(task& job) {
  each_operand(job, [](dims& strides) { strides.push_back(1); });
  job.domain.push_back(1);
}

[[gnu::cold, gnu::noinline]] inline void swap_axes(task& job, int i, int j) {
  auto swap = [&](dims& d) { std::swap(d[i], d[j]); };
  each_operand(job, swap);
  swap(job.domain);
  const std::uint32_t a = job.reduced_axes >> i & 1, b = job.reduced_axes >> j & 1;
  job.reduced_axes = (job.reduced_axes & ~(1u << i) & ~(1u << j)) | (a << j) | (b << i);
}

}  // namespace detail

[[gnu::noinline]] inline void drop_single_axes(task& job) {
  for (int i = job.domain.rank() - 1; i >= 0; --i)
    if (job.domain[i] == 1) detail::erase_axis(job, i);
}

/// Drops axes of size 1 and merges neighbouring axes of the same kind (reduced or not) that every operand and result
/// walks through in one stride.
inline void collapse(task& job) {
  drop_single_axes(job);
  for (int i = job.domain.rank() - 2; i >= 0; --i) {
    if ((job.reduced_axes >> i & 1) != (job.reduced_axes >> (i + 1) & 1)) continue;
    bool joined = true;
    const std::int64_t size = job.domain[i + 1];
    detail::each_operand(job, [&](const dims& strides) { joined &= strides[i] == strides[i + 1] * size; });
    if (!joined) continue;
    detail::each_operand(job, [&](dims& strides) { strides[i] = strides[i + 1]; });
    job.domain[i] *= size;
    const std::uint32_t reduced = job.reduced_axes >> i & 1;
    detail::erase_axis(job, i + 1);
    job.reduced_axes = (job.reduced_axes & ~(1u << i)) | (reduced << i);
  }
}

/// Orders the axes of a row program, row axes last, by how its largest operand lies in memory (a program with results
/// per element: its first result): the row axes from slow to fast, and of the others its fastest one last.
inline void order_by_largest(task& job) {
  const int rank = job.domain.rank(), rows = std::popcount(job.reduced_axes), outer = rank - rows;
  const dims* key = !job.program->reduction_rooted && job.out[0].data ? &job.out[0].strides : nullptr;
  for (std::int64_t k = 0, most = -1; k < job.program->slots && (most >= 0 || !key); ++k) {
    if (!job.in[k].data) continue;
    std::int64_t elements = 1;
    for (int i = 0; i < rank; ++i)
      if (job.in[k].strides[i] != 0) elements *= job.domain[i];
    if (elements > most) key = &job.in[k].strides, most = elements;
  }
  if (!key) return;
  for (int i = outer + 1; i < rank; ++i)
    for (int j = i; j > outer && std::abs((*key)[j - 1]) < std::abs((*key)[j]) && (*key)[j - 1] != 0; --j)
      detail::swap_axes(job, j - 1, j);
  for (int i = 0; i + 1 < outer; ++i)
    if ((*key)[i] == 1)
      for (int j = i; j + 1 < outer; ++j) detail::swap_axes(job, j, j + 1);
}

/// Orders the axes so that the first result is written from slow to fast: sorted by its strides, stable.
inline void order_by_result(task& job) {
  const dims& key = job.out[0].strides;
  for (int i = 1; i < job.domain.rank(); ++i)
    for (int j = i; j > 0 && std::abs(key[j - 1]) < std::abs(key[j]) && key[j - 1] != 0; --j)
      detail::swap_axes(job, j - 1, j);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
