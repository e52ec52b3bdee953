// SPDX-License-Identifier: BSL-1.0
// gather, scatter and scatter_add. A walk over positions finds for each the element that is read straight and the one
// that an index names. Sums are made either with atomics, in whatever order, or after sorting the positions by the
// place that they go to, in an order that follows from the positions: the same bits every time. 32 bits count where
// they can: then sizes divide by a multiplication.
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

// ---- sums in order

/// The key of each position that has an index of its own: the place it goes to above, its number below. Sorted, the
/// positions of one place stand side by side and in order. What names no place comes last.
inline constexpr uint64 no_place = 0xffffffffull;

template <class I, class Walk>
__device__ inline void make_keys(uint64* keys, const I* index, const Walk& w, uint32* fault) {
  using number = typename Walk::index_type;
  for (number i = first_thread<number>(); i < w.elements; i += all_threads<number>()) {
    const auto at = place_of(w, i);
    const number way = way_of(index[at.index], w, fault);
    keys[i] = (way < 0 ? no_place : uint64(at.table + way)) << 32 | uint64(i);
  }
}

// Sorting by eight bits at a time, the lowest first, where keys with the same bits keep their order (a radix sort). A
// block takes tiles of 2048 keys, of which each of its eight warps has 256 in order.
inline constexpr int radix_digits = 256, radix_warps = 8, radix_rounds = 8, radix_tile = 2048;

__device__ inline int digit_of(uint64 key, int shift) {
  return int(key >> shift & 255u);
}
/// How often each digit stands in each tile: counts[digit * tiles + tile]. `seen` is shared: a word for each digit.
__device__ inline void radix_count(const uint64* keys, int64 n, int shift, uint32* counts, int64 tiles, uint32* seen) {
  const int thread = int(threadIdx.x);
  for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    seen[thread] = 0;
    __syncthreads();
    const int64 start = tile * radix_tile;
    for (int k = thread; k < radix_tile && start + k < n; k += radix_digits)
      atomicAdd(seen + digit_of(keys[start + k], shift), 1u);
    __syncthreads();
    counts[thread * tiles + tile] = seen[thread];
    __syncthreads();
  }
}
/// The sum of the values of a block's threads before this one; `total` is that of all. `shared`: a word for each.
__device__ inline uint32 sum_before(uint32 x, uint32* shared, uint32& total) {
  const int thread = int(threadIdx.x);
  shared[thread] = x;
  __syncthreads();
  for (int way = 1; way < radix_digits; way *= 2) {
    const uint32 other = thread >= way ? shared[thread - way] : 0;
    __syncthreads();
    shared[thread] += other;
    __syncthreads();
  }
  total = shared[radix_digits - 1];
  const uint32 mine = shared[thread] - x;
  __syncthreads();
  return mine;
}
/// Each digit's counts become what stands in the tiles before; `totals` gets the sum of all.
__device__ inline void radix_scan(uint32* counts, uint32* totals, int64 tiles, uint32* shared) {
  for (int64 digit = blockIdx.x; digit < radix_digits; digit += gridDim.x) {
    uint32 running = 0;
    for (int64 start = 0; start < tiles; start += radix_digits) {
      const int64 tile = start + threadIdx.x;
      uint32 total;
      const uint32 before = sum_before(tile < tiles ? counts[digit * tiles + tile] : 0, shared, total);
      if (tile < tiles) counts[digit * tiles + tile] = running + before;
      running += total;
    }
    if (threadIdx.x == 0) totals[digit] = running;
  }
}
/// The lanes of a warp whose digit is this lane's too; none for a lane without a key.
__device__ inline uint32 lanes_alike(int digit, bool there) {
  uint32 alike = __ballot_sync(0xffffffffu, there);
  if (!there) alike = 0;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    const bool mine = digit >> bit & 1;
    const uint32 votes = __ballot_sync(0xffffffffu, mine);
    alike &= mine ? votes : ~votes;
  }
  return alike;
}
/// Keys go to where their digit's begin, after those of earlier tiles, warps, rounds and lanes. `shared` holds a word
/// for each digit, and for each digit of each warp.
__device__ inline void radix_place(const uint64* keys, uint64* sorted, int64 n, int shift, const uint32* counts,
                                   const uint32* totals, int64 tiles, uint32* shared) {
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  uint32* const next = shared + radix_digits + warp * radix_digits;  // of this warp: where each digit's next key goes
  uint32 all;
  const uint32 start = sum_before(totals[thread], shared, all);
  for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for (int w = 0; w < radix_warps; ++w) shared[radix_digits + w * radix_digits + thread] = 0;
    __syncthreads();
    const int64 from = tile * radix_tile + warp * (32 * radix_rounds) + lane;
    for (int pass = 0; pass < 2; ++pass) {  // the first counts the warp's keys, the second moves them
      for (int round = 0; round < radix_rounds; ++round) {
        const int64 i = from + round * 32;
        const bool there = i < n;
        const uint64 key = there ? keys[i] : 0;
        const int digit = digit_of(key, shift);
        const uint32 alike = lanes_alike(digit, there), before = alike & ((1u << lane) - 1);
        const uint32 place = there ? next[digit] : 0;
        if (there && pass == 1) sorted[place + uint32(__popc(before))] = key;
        __syncwarp();
        if (there && before == 0) next[digit] = place + uint32(__popc(alike));
        __syncwarp();
      }
      __syncthreads();
      if (pass == 0) {
        uint32 running = start + counts[thread * tiles + tile];
        for (int w = 0; w < radix_warps; ++w) {
          uint32& place = shared[radix_digits + w * radix_digits + thread];
          const uint32 count = place;
          place = running;
          running += count;
        }
        __syncthreads();
      }
    }
  }
}

/// As many terms of one place as one thread adds up. Where there are more, they are chunks of that many, from the
/// place's first term on, whose sums are joined in their order: it depends on the terms of the place alone.
inline constexpr int sum_chunk = 256;

/// The sum of `sum` and the terms from key i on, as far as a chunk goes.
template <class Sum, class T, class Walk, class Number>
__device__ inline Sum sum_of_chunk(Sum sum, const T* values, const uint64* keys, const Walk& w, Number i,
                                   Number beside) {
  const uint64 place = keys[i] >> 32;
  const Number end = i + sum_chunk < w.elements ? i + sum_chunk : w.elements;
  for (; i < end && keys[i] >> 32 == place; ++i) {
    const auto position = Number(keys[i] & 0xffffffffull);
    sum = Sum(sum + value_of(values[place_of(w, position).values + beside]));
  }
  return sum;
}

/// The chunks of each place but its first. One at most begins among `sum_chunk` keys from a multiple of that on, which
/// is where its sum goes, for every position of `rest`, the axes along which the index stands still.
template <class Sum, class T, class Walk>
__device__ inline void sum_chunks(Sum* sums, const T* values, const uint64* keys, const Walk& w, const Walk& rest) {
  using number = typename Walk::index_type;
  const number all = (w.elements + sum_chunk - 1) / sum_chunk * rest.elements;
  for (number t = first_thread<number>(); t < all; t += all_threads<number>()) {
    const number window = divided(t, w.by_beside), i = window * sum_chunk;
    const uint64 place = keys[i] >> 32;
    if (i == 0 || place == no_place || keys[i - 1] >> 32 != place) continue;
    number first = 0, last = i;  // where the place's terms begin
    while (first < last) {
      const number middle = first + (last - first) / 2;
      if (keys[middle] >> 32 < place)
        first = middle + 1;
      else
        last = middle;
    }
    const number chunk = first + (i - first + sum_chunk - 1) / sum_chunk * sum_chunk;
    if (chunk >= w.elements || keys[chunk] >> 32 != place) continue;
    sums[t] = sum_of_chunk(Sum(0), values, keys, w, chunk, place_of(rest, number(t - window * rest.elements)).values);
  }
}

/// Each place that sorted keys name gets its sum: of its first chunk, and of those that sum_chunks has left.
template <class Sum, class T, class Walk>
__device__ inline void sum_in_order(T* table, const T* values, const uint64* keys, const Sum* sums, const Walk& w,
                                    const Walk& rest) {
  using number = typename Walk::index_type;
  const number all = w.elements * rest.elements;
  for (number t = first_thread<number>(); t < all; t += all_threads<number>()) {
    const number i = divided(t, w.by_beside);
    const uint64 place = keys[i] >> 32;
    if (place == no_place || (i > 0 && keys[i - 1] >> 32 == place)) continue;
    const number at = number(t - i * rest.elements);
    const auto beside = place_of(rest, at);
    T& to = table[int64(place) + beside.table];
    Sum sum = sum_of_chunk(Sum(value_of(to)), values, keys, w, i, beside.values);
    number left = (i / sum_chunk + 1) * rest.elements + at;
    for (number k = i + sum_chunk; k < w.elements && keys[k] >> 32 == place; k += sum_chunk, left += rest.elements)
      sum = Sum(sum + sums[left]);
    to = stored_as<T>(sum);
  }
}

}  // namespace kiln::kernels
