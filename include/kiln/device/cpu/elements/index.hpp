// SPDX-License-Identifier: BSL-1.0
// gather, scatter and scatter_add on the processor. Where many positions share an index they are moved as one run;
// sums are made in the order of the positions, so the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <kiln/core/dtype.hpp>
#include <kiln/core/index_job.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// The elements of the table may be of another type than the values, and lie in other places: with `places`, what the
/// index i names lies at places[i].
template <class T, class I, class Table = T>
class index_walker {
 public:
  explicit index_walker(const index_job& job, const std::int64_t* places = nullptr)
      : job_(job),
        index_(static_cast<const I*>(job.index)),
        table_(static_cast<Table*>(job.table)),
        values_(static_cast<T*>(job.values)),
        places_(places),
        last_(job.domain.rank() - 1) {}

  /// Positions begin to end of the outermost axis.
  void run(std::int64_t begin, std::int64_t end) const {
    walk(0, begin, end, begin * job_.index_strides[0], begin * job_.table_strides[0], begin * job_.value_strides[0]);
  }
  /// Throws index_error if an index names no place.
  void check() const {
    each_index(0, 0, [this](std::int64_t i) {
      if (i < 0 || i >= job_.axis_size) throw_index(i, job_.axis_size);
    });
  }
  /// Calls f with each index. (Not inline: a compiler would write calls of itself out some axes deep.)
  template <class F>
  [[gnu::noinline]] void each_index(int axis, std::int64_t at, const F& f) const {
    const std::int64_t stride = job_.index_strides[axis];
    const std::int64_t n = stride == 0 ? std::min<std::int64_t>(job_.domain[axis], 1) : job_.domain[axis];
    if (axis < last_)
      for (std::int64_t i = 0; i < n; ++i) each_index(axis + 1, at + i * stride, f);
    else
      for (std::int64_t i = 0; i < n; ++i) f(static_cast<std::int64_t>(index_[at + i * stride]));
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
  std::int64_t place(std::int64_t i) const {
    const auto index = static_cast<std::int64_t>(index_[i]);
    return (places_ ? places_[index] : index) * job_.axis_stride;
  }
  void move(std::int64_t t, std::int64_t st, std::int64_t v, std::int64_t sv, std::int64_t n) const {
    Table* const table = table_ + t;
    T* const values = values_ + v;
    switch (job_.move) {
      case index_move::gather:
        if (st == 1 && sv == 1) {
          std::copy_n(table, n, values);
          return;
        }
        for (std::int64_t k = 0; k < n; ++k) values[k * sv] = static_cast<T>(table[k * st]);
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
                static_cast<Table>(static_cast<C>(static_cast<C>(table[k * st]) + static_cast<C>(values[k * sv])));
        }
        return;
    }
  }

  const index_job& job_;
  const I* index_;
  Table* table_;
  T* values_;
  const std::int64_t* places_;
  int last_;
};

/// Threads share the outermost axis, unless two of its positions may write to one place.
template <class Walker>
void share_outermost(const Walker& walker, const index_job& job) {
  const std::int64_t outer = job.domain[0], inner = count(job.domain) / outer;
  const bool apart = job.move == index_move::gather || job.table_strides[0] != 0;
  if (!apart) return walker.run(0, outer);
  parallel_for(outer, std::max<std::int64_t>(1, 16384 / inner),
               [&](std::int64_t begin, std::int64_t end) { walker.run(begin, end); });
}

/// Calls f(table element, element of `sums`) for each element that a job names, where `sums` holds
/// the named places of the table without gaps.
template <class T, class F>
void each_named(const index_job& job, const index_job& sums, const std::int64_t* places, const F& f) {
  auto walk = [&](auto& self, int axis, std::int64_t t, std::int64_t s) -> void {
    if (axis == job.domain.rank()) return f(static_cast<T*>(job.table)[t], static_cast<float*>(sums.table)[s]);
    const std::int64_t n =
        job.table_strides[axis] == 0 ? std::min<std::int64_t>(job.domain[axis], 1) : job.domain[axis];
    for (std::int64_t i = 0; i < n; ++i)
      self(self, axis + 1, t + i * job.table_strides[axis], s + i * sums.table_strides[axis]);
  };
  for (std::int64_t i = 0; i < job.axis_size; ++i)
    if (places[i] >= 0) walk(walk, 0, i * job.axis_stride, places[i] * sums.axis_stride);
}

/// Sums of half types are made in float, of the places that are named, and rounded once.
template <class T, class I>
void add_in_float(const index_job& job) {
  const std::unique_ptr<std::int64_t[]> places(new std::int64_t[static_cast<std::size_t>(job.axis_size)]);
  std::fill_n(places.get(), job.axis_size, std::int64_t{-1});
  std::int64_t named = 0;
  index_walker<T, I>(job).each_index(0, 0, [&](std::int64_t i) {
    if (places[static_cast<std::size_t>(i)] < 0) places[static_cast<std::size_t>(i)] = named++;
  });
  index_job sums = job;
  sums.axis_stride = 1;
  for (int axis = job.domain.rank() - 1; axis >= 0; --axis) {
    if (job.table_strides[axis] == 0) continue;
    sums.table_strides[axis] = sums.axis_stride;
    sums.axis_stride *= job.domain[axis];
  }
  const std::unique_ptr<float[]> workspace(new float[static_cast<std::size_t>(named * sums.axis_stride)]);
  sums.table = workspace.get();
  each_named<T>(job, sums, places.get(), [](const T& from, float& to) { to = static_cast<float>(from); });
  share_outermost(index_walker<T, I, float>(sums, places.get()), sums);
  each_named<T>(job, sums, places.get(), [](T& to, const float& from) { to = static_cast<T>(from); });
}

template <class T, class I>
void run_index_as(const index_job& job) {
  if (count(job.domain) == 0) return;
  const index_walker<T, I> walker(job);
  walker.check();  // before anything is written
  if constexpr (!std::is_same_v<T, compute_t<T>>)
    if (job.move == index_move::scatter_add) return add_in_float<T, I>(job);
  share_outermost(walker, job);
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
