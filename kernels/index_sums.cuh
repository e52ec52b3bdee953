// SPDX-License-Identifier: BSL-1.0
// scatter_add in a fixed order: the positions are sorted by the place that they go to, then each place adds its terms
// in the order of their positions. The sort is a least significant digit radix sort with one kernel a digit: a tile
// learns where its keys go by looking back at what earlier tiles have counted (Adinets and Merrill, "Onesweep", 2022).
// A place is counted in whole rows, so that 32 bits hold it.
#pragma once

#include <kernels/index.cuh>

namespace kiln::kernels {

/// A position and the place that it goes to.
struct alignas(8) sort_entry {
  uint32 place, position;
};

/// The entry of position i. An index outside its axis goes to place number `places`, which is behind all others.
template <class I, class Walk>
__device__ inline sort_entry entry_of(typename Walk::index_type i, const I* index, const Walk& w, uint32 places,
                                      uint32* fault) {
  const auto at = place_of(w, i);
  const auto way = way_of(index[at.index], w, fault);
  return {way < 0 ? places : uint32(at.table + way), uint32(i)};
}

// A tile is what a block of `sort_threads` sorts at a time: each of its warps has `rounds` * 32 neighbouring keys.
inline constexpr int sort_threads = 256, sort_warps = 8, sort_rounds = 16, most_digits = 2048,
                     digits_each = most_digits / sort_threads;

/// The shared memory of a block that sorts: 10249 words.
struct sort_memory {
  uint32 begin[most_digits];               // where the next key of each digit goes
  uint16 of_warp[sort_warps][most_digits];  // keys of each digit: in the warp so far, then in the warps before
  uint32 sums[sort_warps];
  uint32 tile;
};

/// How often each digit occurs, for every pass: counts[(pass * blocks + block) * digits + digit] is that of one block.
/// Sets `words` words from `zeroed` on to 0 as well, for the kernels that follow. `shared` has a word for each digit of
/// each pass.
template <class I, class Walk>
__device__ inline void count_digits(uint32* counts, const I* index, const Walk& w, uint32 places, int32 bits,
                                    int32 passes, uint32* zeroed, int64 words, uint32* fault, uint32* shared) {
  using number = typename Walk::index_type;
  const int digits = 1 << bits, all = digits * passes;
  for (int k = int(threadIdx.x); k < all; k += int(blockDim.x)) shared[k] = 0;
  for (int64 k = first_thread<int64>(); k < words; k += all_threads<int64>()) zeroed[k] = 0;
  __syncthreads();
  for (number i = first_thread<number>(); i < w.elements; i += all_threads<number>()) {
    uint32 place = entry_of(i, index, w, places, fault).place;
    for (int pass = 0; pass < passes; ++pass, place >>= bits)
      atomicAdd(shared + pass * digits + int(place & uint32(digits - 1)), 1u);
  }
  __syncthreads();
  for (int pass = 0; pass < passes; ++pass)
    for (int d = int(threadIdx.x); d < digits; d += int(blockDim.x))
      counts[(int64(pass) * gridDim.x + blockIdx.x) * digits + d] = shared[pass * digits + d];
}

/// The lanes of a warp whose digit is this lane's too; none for a lane without a key.
__device__ inline uint32 lanes_alike(int digit, bool there, int bits) {
  uint32 alike = __ballot_sync(0xffffffffu, there);
  if (!there) alike = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const bool mine = digit >> bit & 1;
    const uint32 votes = __ballot_sync(0xffffffffu, mine);
    alike &= mine ? votes : ~votes;
  }
  return alike;
}

/// The sum of the values of a block's threads before this one. `sums`: a word for each warp.
__device__ inline uint32 sum_before(uint32 x, uint32* sums) {
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  uint32 sum = x;
#pragma unroll
  for (int way = 1; way < 32; way *= 2) {
    const uint32 other = __shfl_up_sync(0xffffffffu, sum, way);
    if (lane >= way) sum += other;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  uint32 before = 0;
  for (int other = 0; other < warp; ++other) before += sums[other];
  __syncthreads();
  return before + sum - x;
}

/// The keys of a tile that a thread has, and how many of the same digit its warp has before each.
struct ranked_keys {
  sort_entry key[sort_rounds];
  uint32 rank[sort_rounds];
  uint32 present;  // a bit for each that exists

  /// Takes the keys of a tile that begins at `start` and ends before n. `entry_at(i)` is the i-th key.
  template <class EntryAt>
  __device__ void take(EntryAt entry_at, int64 start, int64 n, int rounds, int shift, int bits, sort_memory& shared) {
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32), digits = 1 << bits;
    uint16* const seen = shared.of_warp[warp];
    const int64 from = start + warp * rounds * 32 + lane;
    for (int d = lane; d < digits; d += 32) seen[d] = 0;
    present = 0;
#pragma unroll
    for (int r = 0; r < sort_rounds; ++r) {
      const int64 i = from + r * 32;
      if (r >= rounds || i >= n) continue;
      key[r] = entry_at(i);
      present |= 1u << r;
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < sort_rounds; ++r) {
      if (r >= rounds || from - lane + r * 32 >= n) continue;  // for the whole warp
      const bool there = present >> r & 1;
      const int digit = there ? int(key[r].place >> shift & uint32(digits - 1)) : 0;
      const uint32 alike = lanes_alike(digit, there, bits), before = alike & ((1u << lane) - 1);
      const uint32 earlier = there ? seen[digit] : 0;
      rank[r] = earlier + uint32(__popc(before));
      __syncwarp();
      if (there && before == 0) seen[digit] = uint16(earlier + uint32(__popc(alike)));
      __syncwarp();
    }
  }
  /// Writes each key to where shared.begin and shared.of_warp say.
  __device__ void put(sort_entry* sorted, int shift, int bits, const sort_memory& shared) const {
    const int warp = int(threadIdx.x / 32);
#pragma unroll
    for (int r = 0; r < sort_rounds; ++r) {
      if (!(present >> r & 1)) continue;
      const int digit = int(key[r].place >> shift & ((1u << bits) - 1));
      sorted[shared.begin[digit] + shared.of_warp[warp][digit] + rank[r]] = key[r];
    }
  }
};

/// The digits that a thread looks after: `count` from `first` on.
struct own_digits {
  int first, count;
  __device__ explicit own_digits(int bits) {
    const int digits = 1 << bits, each = digits > sort_threads ? digits / sort_threads : 1;
    first = int(threadIdx.x) * each;
    count = first < digits ? each : 0;
  }
};

/// How many keys of a digit the tile has; the warps' counts become those of the warps before.
__device__ inline uint32 sum_of_warps(int digit, sort_memory& shared) {
  uint32 running = 0;
#pragma unroll
  for (int w = 0; w < sort_warps; ++w) {
    const uint32 count = shared.of_warp[w][digit];
    shared.of_warp[w][digit] = uint16(running);
    running += count;
  }
  return running;
}

/// All passes for keys that are one tile, by block 0. `first` gets the keys of the first pass, `second` those of the
/// next one, and so on. The other blocks, if there are any, set `words` words from `zeroed` on to 0.
template <class I, class Walk>
__device__ inline void sort_tile(sort_entry* first, sort_entry* second, const I* index, const Walk& w, uint32 places,
                                 int32 bits, int32 passes, uint32* zeroed, int64 words, uint32* fault,
                                 sort_memory& shared) {
  const int64 zeroing = gridDim.x > 1 ? gridDim.x - 1 : 1, of_them = gridDim.x > 1 ? int64(blockIdx.x) - 1 : 0;
  for (int64 k = of_them * sort_threads + threadIdx.x; of_them >= 0 && k < words; k += zeroing * sort_threads)
    zeroed[k] = 0;
  if (blockIdx.x > 0) return;
  const int64 n = w.elements;
  const int rounds = int((n + sort_threads - 1) / sort_threads);
  const own_digits own(bits);
  for (int pass = 0; pass < passes; ++pass) {
    ranked_keys keys;
    const sort_entry* const from = pass % 2 ? first : second;
    const auto entry_at = [&](int64 i) {
      return pass == 0 ? entry_of(typename Walk::index_type(i), index, w, places, fault) : from[i];
    };
    keys.take(entry_at, 0, n, rounds, pass * bits, bits, shared);
    __syncthreads();
    uint32 count[digits_each], sum = 0;
#pragma unroll
    for (int k = 0; k < digits_each; ++k)
      if (k < own.count) sum += count[k] = sum_of_warps(own.first + k, shared);
    uint32 before = sum_before(sum, shared.sums);
#pragma unroll
    for (int k = 0; k < digits_each; ++k)
      if (k < own.count) {
        shared.begin[own.first + k] = before;
        before += count[k];
      }
    __syncthreads();
    keys.put(pass % 2 ? second : first, pass * bits, bits, shared);
    __syncthreads();
  }
}

/// A word that other blocks read and write meanwhile.
__device__ inline uint32 shared_load(uint32* word) {
#if defined(__CUDA_ARCH__)
  uint32 now;
  asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
  return now;
#else
  return atomicOr(word, 0u);
#endif
}
__device__ inline void shared_store(uint32* word, uint32 value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#else
  atomicExch(word, value);
#endif
}

/// What a tile tells later ones of a digit, 0 at first: how many keys of it it has, or how many it and all before have.
inline constexpr uint32 counted_tile = 1u << 30, counted_all = 2u << 30, count_mask = counted_tile - 1;

/// How many keys of the digits that a thread looks after the tiles before `tile` have, from what they tell: each
/// either its own count or the sum up to it, where looking back ends.
__device__ inline void look_back(uint32 (&before)[digits_each], uint32* states, int64 tile, int digits,
                                 const own_digits& own) {
  constexpr int window = 4;  // tiles whose words are loaded together
  int32 next[digits_each];
  uint32 open = (1u << own.count) - 1;
#pragma unroll
  for (int k = 0; k < digits_each; ++k) before[k] = 0, next[k] = int32(tile) - 1;
  if (tile == 0) return;
  while (open != 0) {
    uint32 seen[digits_each][window];
#pragma unroll
    for (int k = 0; k < digits_each; ++k)
#pragma unroll
      for (int back = 0; back < window; ++back)
        if ((open >> k & 1) && next[k] >= back)
          seen[k][back] = shared_load(states + int64(next[k] - back) * digits + own.first + k);
#pragma unroll
    for (int k = 0; k < digits_each; ++k) {
      if (!(open >> k & 1)) continue;
      bool on = true;
#pragma unroll
      for (int back = 0; back < window; ++back) {
        // Tile 0 tells the sum at once, so nothing before it is asked for.
        if (!on || seen[k][back] < counted_tile) {
          on = false;
          continue;
        }
        before[k] += seen[k][back] & count_mask;
        --next[k];
        if (seen[k][back] >= counted_all) {
          open &= ~(1u << k);
          on = false;
        }
      }
    }
  }
}

/// One pass: keys go to where their digit begins, behind those of earlier tiles, warps, rounds and lanes. `counts` is
/// what `counting` blocks of count_digits left for this pass; `states` has a word for each digit of each tile, and
/// `next_tile` one; all are 0 at first. Tiles are taken in their order, so no tile waits for one that has not begun.
template <class EntryAt>
__device__ inline void radix_pass(sort_entry* sorted, EntryAt entry_at, int64 n, int32 shift, int32 bits,
                                  const uint32* counts, int32 counting, uint32* states, uint32* next_tile,
                                  sort_memory& shared) {
  constexpr int tile_keys = sort_threads * sort_rounds;
  const int digits = 1 << bits;
  const int64 tiles = (n + tile_keys - 1) / tile_keys;
  const own_digits own(bits);
  uint32 begin[digits_each], sum = 0;
#pragma unroll
  for (int k = 0; k < digits_each; ++k) begin[k] = 0;
#pragma unroll 4
  for (int block = 0; block < counting; ++block)
#pragma unroll
    for (int k = 0; k < digits_each; ++k)
      if (k < own.count) begin[k] += counts[int64(block) * digits + own.first + k];
#pragma unroll
  for (int k = 0; k < digits_each; ++k) sum += begin[k];
  uint32 running = sum_before(sum, shared.sums);
#pragma unroll
  for (int k = 0; k < digits_each; ++k) {
    const uint32 count = begin[k];
    begin[k] = running;
    running += count;
  }
  for (;;) {
    if (threadIdx.x == 0) shared.tile = atomicAdd(next_tile, 1u);
    __syncthreads();
    const int64 tile = shared.tile;
    if (tile >= tiles) return;
    ranked_keys keys;
    keys.take(entry_at, tile * tile_keys, n, sort_rounds, shift, bits, shared);
    __syncthreads();
    uint32 count[digits_each], before[digits_each];
#pragma unroll
    for (int k = 0; k < digits_each; ++k)
      if (k < own.count) {
        count[k] = sum_of_warps(own.first + k, shared);
        shared_store(states + tile * digits + own.first + k, count[k] | (tile == 0 ? counted_all : counted_tile));
      }
    look_back(before, states, tile, digits, own);
#pragma unroll
    for (int k = 0; k < digits_each; ++k)
      if (k < own.count) {
        if (tile > 0) shared_store(states + tile * digits + own.first + k, (before[k] + count[k]) | counted_all);
        shared.begin[own.first + k] = begin[k] + before[k];
      }
    __syncthreads();
    keys.put(sorted, shift, bits, shared);
    __syncthreads();
  }
}
/// The first pass, straight from the index ...
template <class I, class Walk>
__device__ inline void radix_pass_of_index(sort_entry* sorted, const I* index, const Walk& w, uint32 places, int32 bits,
                                           const uint32* counts, int32 counting, uint32* states, uint32* next_tile,
                                           sort_memory& shared) {
  uint32 fault = 0;  // count_digits has reported it
  const auto entry_at = [&](int64 i) { return entry_of(typename Walk::index_type(i), index, w, places, &fault); };
  radix_pass(sorted, entry_at, w.elements, 0, bits, counts, counting, states, next_tile, shared);
}
/// ... and the later ones, from what the pass before has made.
__device__ inline void radix_pass_of_entries(sort_entry* sorted, const sort_entry* entries, int64 n, int32 shift,
                                             int32 bits, const uint32* counts, int32 counting, uint32* states,
                                             uint32* next_tile, sort_memory& shared) {
  radix_pass(
      sorted, [&](int64 i) { return entries[i]; }, n, shift, bits, counts, counting, states, next_tile, shared);
}

// ---- the sums

/// As many terms of one place as are added one after the other. Where there are more, they are chunks of that many,
/// from the place's first term on, whose sums are joined in their order: it depends on the terms of the place alone.
inline constexpr int sum_chunk = 256;

/// Whether entry i goes to `place`.
template <class Number>
__device__ inline bool goes_to(const sort_entry* entries, Number i, Number n, uint32 place) {
  return i < n && entries[i].place == place;
}

/// The first of the sorted entries that go to the same place as entry `last`.
template <class Number>
__device__ inline Number first_of_place(const sort_entry* entries, Number last) {
  const uint32 place = entries[last].place;
  Number low = 0, high = last;
  for (Number way = 1; high > 0; way *= 2) {
    const Number earlier = high > way ? high - way : 0;
    if (entries[earlier].place != place) {
      low = earlier + 1;
      break;
    }
    high = earlier;
  }
  while (low < high) {
    const Number middle = low + (high - low) / 2;
    if (entries[middle].place != place)
      low = middle + 1;
    else
      high = middle;
  }
  return high;
}

/// What moves a number of bytes in few parts.
template <unsigned Bytes>
struct word_of {
  using type = uint32;
};
template <>
struct word_of<1> {
  using type = uint8;
};
template <>
struct word_of<2> {
  using type = uint16;
};

/// One column of the sums: N neighbours of each row, at `beside` of the rows of the table and of the values.
template <class Sum, class T, int N, class Walk>
struct column_sums {
  using number = typename Walk::index_type;
  T* table;
  const T* values;
  const sort_entry* entries;
  vec<Sum, N>* chunks;  // of this column, `columns` from each other: the first chunks of places, then the other ones
  uint32* arrived;      // likewise
  const Walk& w;
  number columns;

  // Terms under way are held as they lie in memory: half types in half a register each.
  using word = typename word_of<sizeof(vec<T, N>)>::type;
  using held = vec<word, int(sizeof(vec<T, N>) / sizeof(word))>;

  __device__ held term(number i) const {
    return *reinterpret_cast<const held*>(values + place_of(w, number(entries[i].position)).values);
  }
  static __device__ void add(vec<Sum, N>& sum, const held& x) {
    const auto terms = bits_as<vec<T, N>>(x);
#pragma unroll
    for (int e = 0; e < N; ++e) sum[e] = Sum(sum[e] + value_of(terms[e]));
  }
  __device__ void store(T* to, const vec<Sum, N>& sum) const {
    vec<T, N> out;
#pragma unroll
    for (int e = 0; e < N; ++e) out[e] = stored_as<T>(sum[e]);
    *reinterpret_cast<vec<T, N>*>(to) = out;
  }
  /// Where the sum of the chunk that begins at entry i is. Of the chunks that begin among `sum_chunk` entries from a
  /// multiple of that on, one at most is the first of a place with several, and one at most is a later one.
  __device__ vec<Sum, N>& chunk(number i, bool first) const {
    const number all = (w.elements + sum_chunk - 1) / sum_chunk;
    return chunks[((first ? 0 : all) + i / sum_chunk) * columns];
  }

  /// Adds the chunk that begins at entry i of a place whose entries begin at `start`: to the table, if the place has no
  /// other chunk. Else the chunk that is done last joins all of them. Returns where the chunk ends.
  __device__ number add_chunk(number i, number start, T* to) const {
    constexpr int most = 8, few = 4;  // terms whose loads are under way together
    const uint32 place = entries[i].place;
    const number n = w.elements, end = i + sum_chunk < n ? i + sum_chunk : n;
    const bool first = i == start;
    vec<T, N> there;
    held terms[most];
    if (first) there = *reinterpret_cast<const vec<T, N>*>(to);
    vec<Sum, N> sum;
    bool begun = false;
    const auto begin = [&] {
      if (begun) return;
      begun = true;
#pragma unroll
      for (int e = 0; e < N; ++e) sum[e] = first ? Sum(value_of(there[e])) : Sum(0);
    };
    number k = i;
    for (bool more = true; more;) {
      if (goes_to(entries, number(k + most - 1), end, place)) {
#pragma unroll
        for (int u = 0; u < most; ++u) terms[u] = term(k + u);
        begin();
#pragma unroll
        for (int u = 0; u < most; ++u) add(sum, terms[u]);
        k += most;
        more = k < end;
      } else {
        bool same[few];
#pragma unroll
        for (int u = 0; u < few; ++u) {
          same[u] = goes_to(entries, number(k + u), end, place);
          if (same[u]) terms[u] = term(k + u);
        }
        begin();
#pragma unroll
        for (int u = 0; u < few; ++u)
          if (same[u]) {
            add(sum, terms[u]);
            ++k;
          }
        more = same[few - 1];
      }
    }
    const bool goes_on = k == i + sum_chunk && goes_to(entries, k, n, place);
    if (first && !goes_on) {
      store(to, sum);
      return k;
    }
    chunk(i, first) = sum;
    __threadfence();
    // Each adds 1, but the last one takes away as many as the others are: the word is 0 again when all are done.
    const uint32 mine = goes_on ? 1u : 0u - uint32((i - start) / sum_chunk);
    if (atomicAdd(arrived + start / sum_chunk * columns, mine) + mine == 0) {
      __threadfence();
      join(start, place, to);
    }
    return k;
  }
  __device__ void join(number start, uint32 place, T* to) const {
    constexpr int together = 8;
    const number n = w.elements;
    vec<Sum, N> sum = chunk(start, true);
    const auto add_sum = [&](const vec<Sum, N>& x) {
#pragma unroll
      for (int e = 0; e < N; ++e) sum[e] = Sum(sum[e] + x[e]);
    };
    number i = start + sum_chunk;
    while (goes_to(entries, number(i + (together - 1) * sum_chunk), n, place)) {
      vec<Sum, N> parts[together];
#pragma unroll
      for (int u = 0; u < together; ++u) parts[u] = chunk(i + u * sum_chunk, false);
#pragma unroll
      for (int u = 0; u < together; ++u) add_sum(parts[u]);
      i += together * sum_chunk;
    }
    for (; goes_to(entries, i, n, place); i += sum_chunk) add_sum(chunk(i, false));
    store(to, sum);
  }
};

/// Each place that sorted entries name gets its sum. A thread takes the chunks that begin among 2^window_bits entries,
/// for one column of `rest`, the axes along which the index stands still, whose strides are of N elements. A row of the
/// table is `unit` elements from the one before. `arrived` has a word for each column of each `sum_chunk` entries, 0
/// before and after.
template <class Sum, int N, class T, class Walk>
__device__ inline void sum_in_order(T* table, const T* values, const sort_entry* entries, vec<Sum, N>* sums,
                                    uint32* arrived, const Walk& w, const Walk& rest, int64 unit, uint32 places,
                                    int32 window_bits) {
  using number = typename Walk::index_type;
  const number n = w.elements, columns = rest.elements;
  const number all = ((n - 1 >> window_bits) + 1) * columns;
  for (number t = first_thread<number>(); t < all; t += all_threads<number>()) {
    const number which = divided(t, w.by_beside), column = t - which * columns;
    const auto beside = place_of(rest, column);
    T* const here = table + beside.table;
    const column_sums<Sum, T, N, Walk> of{here, values + beside.values, entries, sums + column, arrived + column, w,
                                          columns};
    number i = which << window_bits, start = i;
    const number end = i + (number(1) << window_bits) < n ? i + (number(1) << window_bits) : n;
    if (const uint32 place = entries[i].place; i > 0 && entries[i - 1].place == place) {  // its terms begin before
      number beyond = i + 1;
      while (goes_to(entries, beyond, end, place)) ++beyond;
      number chunk = beyond;
      start = beyond;
      if (beyond > sum_chunk && entries[beyond - 1 - sum_chunk].place == place) {
        const number first = first_of_place(entries, number(beyond - 1 - sum_chunk));
        chunk = first + (i - first + sum_chunk - 1) / sum_chunk * sum_chunk;
        if (chunk < beyond)
          start = first;
        else
          chunk = beyond;
      }
      i = chunk;
    }
    while (i < end && entries[i].place < places)
      i = start = of.add_chunk(i, start, here + int64(entries[i].place) * unit);
  }
}

}  // namespace kiln::kernels
