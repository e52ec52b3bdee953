// SPDX-License-Identifier: BSL-1.0
// gather, scatter and scatter_add. A walk over positions finds for each the element that is read straight and the one
// that an index names. Sums are made either with atomics, in whatever order, or after sorting the positions by the
// place that they go to, in the order of the positions: the same bits every time.
#pragma once

#include <kernels/map.cuh>

namespace kiln::kernels {

/// As many axes as a tensor may have.
struct index_walk {
  int64 sizes[8], table[8], values[8], index[8];
  int64 elements, axis_stride, axis_size;
  int32 rank;
};

struct index_place {
  int64 table, values, index;
};
__device__ inline index_place place_of(const index_walk& w, int64 position) {
  index_place at = {0, 0, 0};
  for (int d = w.rank - 1; d >= 0; --d) {
    const int64 rest = position / w.sizes[d], here = position - rest * w.sizes[d];
    at.table += here * w.table[d];
    at.values += here * w.values[d];
    at.index += here * w.index[d];
    position = rest;
  }
  return at;
}

/// How far the index goes along its axis, or -1 if it names no place: the host is told.
template <class I>
__device__ inline int64 way_of(I index, const index_walk& w, uint32* fault) {
  const int64 i = int64(index);
  if (i >= 0 && i < w.axis_size) return i * w.axis_stride;
  *fault = 2;
  return -1;
}

template <class T, class I>
__device__ inline void gather(T* values, const T* table, const I* index, const index_walk& w, uint32* fault) {
  for (int64 i = first_thread<int64>(); i < w.elements; i += all_threads<int64>()) {
    const index_place at = place_of(w, i);
    const int64 way = way_of(index[at.index], w, fault);
    values[at.values] = way < 0 ? T{} : table[at.table + way];
  }
}
template <class T, class I>
__device__ inline void scatter(T* table, const T* values, const I* index, const index_walk& w, uint32* fault) {
  for (int64 i = first_thread<int64>(); i < w.elements; i += all_threads<int64>()) {
    const index_place at = place_of(w, i);
    const int64 way = way_of(index[at.index], w, fault);
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
template <class T, class I>
__device__ inline void scatter_add(T* table, const T* values, const I* index, const index_walk& w, uint32* fault) {
  for (int64 i = first_thread<int64>(); i < w.elements; i += all_threads<int64>()) {
    const index_place at = place_of(w, i);
    const int64 way = way_of(index[at.index], w, fault);
    if (way >= 0) atomic_add(table + at.table + way, values[at.values]);
  }
}

// ---- sums in order

/// The key of each position that has an index of its own: the place it goes to above, its number below. Sorted, the
/// positions of one place stand side by side and in order. What names no place, or is there to fill up, comes last.
inline constexpr uint64 no_place = 0xffffffffffffffffull;

template <class I>
__device__ inline void make_keys(uint64* keys, int64 room, const I* index, const index_walk& w, uint32* fault) {
  for (int64 i = first_thread<int64>(); i < room; i += all_threads<int64>()) {
    uint64 key = no_place;
    if (i < w.elements) {
      const index_place at = place_of(w, i);
      const int64 way = way_of(index[at.index], w, fault);
      if (way >= 0) key = uint64(at.table + way) << 32 | uint64(i);
    }
    keys[i] = key;
  }
}

__device__ inline void order(uint64& low, uint64& high, bool rising) {
  if ((low > high) != rising) return;
  const uint64 kept = low;
  low = high;
  high = kept;
}
/// One step of bitonic sorting (Batcher 1968): pairs `way` apart, rising in every other run of `run`.
__device__ inline void sort_step(uint64* keys, int64 room, int64 run, int64 way) {
  for (int64 t = first_thread<int64>(); t < room / 2; t += all_threads<int64>()) {
    const int64 i = t / way * 2 * way + t % way;
    order(keys[i], keys[i + way], (i & run) == 0);
  }
}
/// The same steps from runs of `first_run` to runs of `last_run`, those within `2 * blockDim.x` keys, in shared memory.
template <int Threads>
__device__ inline void sort_tiles(uint64* keys, int64 room, int64 first_run, int64 last_run) {
  __shared__ uint64 tile[2 * Threads];
  const int thread = int(threadIdx.x);
  for (int64 start = int64(blockIdx.x) * 2 * Threads; start < room; start += int64(gridDim.x) * 2 * Threads) {
    tile[thread] = keys[start + thread];
    tile[thread + Threads] = keys[start + thread + Threads];
    for (int64 run = first_run; run <= last_run; run *= 2) {
      for (int64 way = run / 2 < Threads ? run / 2 : Threads; way > 0; way /= 2) {
        __syncthreads();
        const int64 i = thread / way * 2 * way + thread % way;
        order(tile[i], tile[i + way], ((start + i) & run) == 0);
      }
    }
    __syncthreads();
    keys[start + thread] = tile[thread];
    keys[start + thread + Threads] = tile[thread + Threads];
    __syncthreads();
  }
}

/// Each place that sorted keys name gets its sum, for every position of `rest`, the axes along which the index stands
/// still.
template <class T>
__device__ inline void sum_in_order(T* table, const T* values, const uint64* keys, const index_walk& w,
                                    const index_walk& rest) {
  const int64 all = w.elements * rest.elements;
  for (int64 t = first_thread<int64>(); t < all; t += all_threads<int64>()) {
    int64 i = t / rest.elements;
    const uint64 place = keys[i] >> 32;
    if (keys[i] == no_place || (i > 0 && keys[i - 1] >> 32 == place)) continue;
    const index_place beside = place_of(rest, t % rest.elements);
    T& to = table[int64(place) + beside.table];
    auto sum = value_of(to);
    for (; i < w.elements && keys[i] != no_place && keys[i] >> 32 == place; ++i) {
      const int64 position = int64(keys[i] & 0xffffffffull);
      sum = decltype(sum)(sum + value_of(values[place_of(w, position).values + beside.values]));
    }
    to = stored_as<T>(sum);
  }
}

}  // namespace kiln::kernels
