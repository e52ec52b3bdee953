// SPDX-License-Identifier: BSL-1.0
// gather, scatter and scatter_add on the processor. Where many positions share an index they are moved as one run;
// sums are made in the order of the positions, so the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/core/dtype.hpp>
#include <kiln/core/index_job.hpp>
#include <kiln/device/cpu/isa.hpp>
#include <kiln/device/cpu/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

template <class T, class I>
class index_walker {
 public:
  explicit index_walker(const index_job& job)
      : job_(job),
        index_(static_cast<const I*>(job.index)),
        table_(static_cast<T*>(job.table)),
        values_(static_cast<T*>(job.values)),
        last_(job.domain.rank() - 1) {}

  /// Positions begin to end of the outermost axis.
  void run(std::int64_t begin, std::int64_t end) const {
    walk(0, begin, end, begin * job_.index_strides[0], begin * job_.table_strides[0], begin * job_.value_strides[0]);
  }
  /// Throws index_error if an index names no place.
  void check(int axis, std::int64_t at) const {
    if (axis > last_) {
      const auto i = static_cast<std::int64_t>(index_[at]);
      if (i < 0 || i >= job_.axis_size) throw_index(i, job_.axis_size);
      return;
    }
    const std::int64_t n =
        job_.index_strides[axis] == 0 ? std::min<std::int64_t>(job_.domain[axis], 1) : job_.domain[axis];
    for (std::int64_t i = 0; i < n; ++i) check(axis + 1, at + i * job_.index_strides[axis]);
  }

 private:
  void walk(int axis, std::int64_t begin, std::int64_t end, std::int64_t i, std::int64_t t, std::int64_t v) const {
    const std::int64_t si = job_.index_strides[axis], st = job_.table_strides[axis], sv = job_.value_strides[axis];
    if (axis < last_) {
      for (std::int64_t k = begin; k < end; ++k, i += si, t += st, v += sv)
        walk(axis + 1, 0, job_.domain[axis + 1], i, t, v);
      return;
    }
    const std::int64_t n = end - begin;
    if (si == 0) return move(t + place(i), st, v, sv, n);
    for (std::int64_t k = 0; k < n; ++k, i += si, t += st, v += sv) move(t + place(i), 0, v, 0, 1);
  }
  std::int64_t place(std::int64_t i) const { return static_cast<std::int64_t>(index_[i]) * job_.axis_stride; }
  void move(std::int64_t t, std::int64_t st, std::int64_t v, std::int64_t sv, std::int64_t n) const {
    T* const table = table_ + t;
    T* const values = values_ + v;
    switch (job_.move) {
      case index_move::gather:
        if (st == 1 && sv == 1) {
          std::copy_n(table, n, values);
          return;
        }
        for (std::int64_t k = 0; k < n; ++k) values[k * sv] = table[k * st];
        return;
      case index_move::scatter:
        for (std::int64_t k = 0; k < n; ++k) table[k * st] = values[k * sv];
        return;
      case index_move::scatter_add:
        if constexpr (std::is_same_v<T, bool>) {
          for (std::int64_t k = 0; k < n; ++k) table[k * st] = table[k * st] || values[k * sv];
        } else {
          using C = compute_t<T>;
          for (std::int64_t k = 0; k < n; ++k)
            table[k * st] =
                static_cast<T>(static_cast<C>(static_cast<C>(table[k * st]) + static_cast<C>(values[k * sv])));
        }
        return;
    }
  }

  const index_job& job_;
  const I* index_;
  T* table_;
  T* values_;
  int last_;
};

template <class T, class I>
void run_index_as(const index_job& job) {
  const index_walker<T, I> walker(job);
  walker.check(0, 0);  // before anything is written
  const std::int64_t outer = job.domain[0], inner = outer == 0 ? 0 : count(job.domain) / outer;
  if (inner == 0) return;
  // Threads share the outermost axis, unless two of its positions may write to one place.
  const bool apart = job.move == index_move::gather || job.table_strides[0] != 0;
  if (!apart) return walker.run(0, outer);
  parallel_for(outer, std::max<std::int64_t>(1, 16384 / inner),
               [&](std::int64_t begin, std::int64_t end) { walker.run(begin, end); });
}

}  // namespace detail

/// Does a job over elements of type T; a domain of no axes is given as one position. Throws index_error for an index
/// that names no place, before anything is written.
template <Element T>
void run_index(const index_job& job) {
  if (job.wide)
    detail::run_index_as<T, std::int64_t>(job);
  else
    detail::run_index_as<T, std::int32_t>(job);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
