// SPDX-License-Identifier: BSL-1.0
// gather, scatter and scatter_add. A walk over positions finds for each the element that is read straight and the one
// that an index names. 32 bits count where they can: then sizes divide by a multiplication. Sums in a fixed order are
// in index_sums.cuh.
#pragma once

#include <kernels/map.cuh>

namespace kiln::kernels {

/// As many axes as a tensor may have.
template <class Index, class Divisor>
struct index_walk_by {
  Index sizes[8], table[8], values[8], index[8];
  Divisor by[8], by_beside;  // by each size; by the elements of the walk beside this one, where there is one
  Index elements, axis_stride, axis_size;
  int32 rank;
  using index_type = Index;
};
using index_walk = index_walk_by<int64, divisor64>;
using index_walk32 = index_walk_by<int32, divisor32>;

template <class Index>
struct index_place {
  Index table, values, index;
};
template <class Index, class Divisor>
__device__ inline index_place<Index> place_of(const index_walk_by<Index, Divisor>& w, Index position) {
  index_place<Index> at = {0, 0, 0};
  for (int d = w.rank - 1; d >= 0; --d) {
    const Index rest = d > 0 ? divided(position, w.by[d]) : 0, here = position - rest * w.sizes[d];
    at.table += here * w.table[d];
    at.values += here * w.values[d];
    at.index += here * w.index[d];
    position = rest;
  }
  return at;
}

/// How far the index goes along its axis, or -1 if it names no place: the host is told.
template <class I, class Walk>
__device__ inline typename Walk::index_type way_of(I index, const Walk& w, uint32* fault) {
  if (index >= 0 && index < w.axis_size) return typename Walk::index_type(index) * w.axis_stride;
  *fault = 2;
  return -1;
}

template <class T, class I, class Walk>
__device__ inline void gather(T* values, const T* table, const I* index, const Walk& w, uint32* fault) {
  using number = typename Walk::index_type;
  for (number i = first_thread<number>(); i < w.elements; i += all_threads<number>()) {
    const auto at = place_of(w, i);
    const number way = way_of(index[at.index], w, fault);
    values[at.values] = way < 0 ? T{} : table[at.table + way];
  }
}
template <class T, class I, class Walk>
__device__ inline void scatter(T* table, const T* values, const I* index, const Walk& w, uint32* fault) {
  using number = typename Walk::index_type;
  for (number i = first_thread<number>(); i < w.elements; i += all_threads<number>()) {
    const auto at = place_of(w, i);
    const number way = way_of(index[at.index], w, fault);
    if (way >= 0) table[at.table + way] = values[at.values];
  }
}

/// Adds in the type that is computed in. Half types are exchanged as the 16 bits that they are.
template <class T>
__device__ inline void atomic_add(T* place, T value) {
  if constexpr (sizeof(T) == 2) {
    uint16* const bits = reinterpret_cast<uint16*>(place);
    uint16 before = *bits, expected;
    do {
      expected = before;
      const T sum = stored_as<T>(value_of(bits_as<T>(expected)) + value_of(value));
      before = atomicCAS(bits, expected, bits_as<uint16>(sum));
    } while (before != expected);
  } else if constexpr (sizeof(T) == 8 && T(1) / 2 == T(0)) {
    // An int64, of which there is no such instruction: the sum of its bits is the same.
    atomicAdd(reinterpret_cast<uint64*>(place), uint64(value));
  } else {
    atomicAdd(place, value);
  }
}
template <class T, class I, class Walk>
__device__ inline void scatter_add(T* table, const T* values, const I* index, const Walk& w, uint32* fault) {
  using number = typename Walk::index_type;
  for (number i = first_thread<number>(); i < w.elements; i += all_threads<number>()) {
    const auto at = place_of(w, i);
    const number way = way_of(index[at.index], w, fault);
    if (way >= 0) atomic_add(table + at.table + way, values[at.values]);
  }
}

}  // namespace kiln::kernels
