// SPDX-License-Identifier: BSL-1.0
// What the kernels of attention share: their parameters, masks, and the sums that backward needs of each query. Of half
// types they are in attention_mma.cuh and attention_mma_backward.cuh, of float and double in attention_fma.cuh. All of
// them hold no matrix of scores, as on the CPU (device/cpu/products/attention.hpp): a block of threads has a tile of
// queries and walks over tiles of keys, or the other way round. Each sum is made by one thread in one order.
#pragma once

#include <kernels/random.cuh>

namespace kiln::kernels {

/// Matrices in memory: row r and column c of number i stand `place(i) + r row + c column` elements behind `data`.
struct attention_matrices {
  const void* data;
  int64 stack[6], row, column;
  int32 wide;  ///< whether rows may be read 16 bytes at a time
};
struct attention_shape {
  int64 matrices, queries, keys;
  int32 width, value_width, rank, causal;
  int64 sizes[6];                              ///< of the axes in front
  attention_matrices q, k, v, added, allowed;  ///< the last two without data: none
  double scale, kept;  ///< of products; what weights are multiplied with that dropout keeps: 1 without
  uint64 seed, first;
  uint32 dropped;  ///< of 2^24 weights
  int32 drops;
};

/// What backward needs of a query: the logarithm of the sum of the exponentials of its scores, to the base that the
/// kernels of its type compute exponentials to (0 if the query sees no key), and the sum of its slopes times weights.
template <class C>
struct attention_sums {
  C logsumexp, slopes;
};
/// What backward is given besides the job.
struct attention_gradient {
  attention_matrices dout;
  const void* sums;  ///< attention_sums of each query
};

/// Half types compute powers of two, since the hardware has an instruction for them.
template <class T>
inline constexpr bool attention_by_exp2 = sizeof(T) == 2;
inline constexpr float log2_e = 1.44269504088896341f, log_2 = 0.693147180559945309f,
                       lowest_float = -0x1.fffffep127f;

/// Where matrix `number` begins, a number below 2^31; null if there are no such matrices.
template <class T>
__device__ inline const T* matrix_of(const attention_shape& s, const attention_matrices& m, int number) {
  if (m.data == nullptr) return nullptr;
  uint32 rest = uint32(number);
  int64 offset = 0;
#pragma unroll 1
  for (int i = s.rank - 1; i > 0; --i) {
    const uint32 size = uint32(s.sizes[i]);
    offset += rest % size * m.stack[i];
    rest /= size;
  }
  if (s.rank > 0) offset += rest * m.stack[0];
  return static_cast<const T*>(m.data) + offset;
}

/// The number of a block's matrix. Blocks for its tiles follow each other along x; there may be more along z than
/// needed.
__device__ inline int attention_matrix() {
  return int(blockIdx.z * gridDim.y + blockIdx.y);
}

/// What a tile of queries may see of a tile of keys.
template <class T, class C>
struct attention_view {
  const T* added;
  const bool* allowed;
  int64 added_row, added_column, allowed_row, allowed_column;
  int queries, keys, ahead;  ///< of this tile; how many keys more than its own number a query sees

  __device__ inline attention_view(const attention_shape& s, int matrix, int64 q0, int64 k0)
      : added(matrix_of<T>(s, s.added, matrix)),
        allowed(matrix_of<bool>(s, s.allowed, matrix)),
        added_row(s.added.row),
        added_column(s.added.column),
        allowed_row(s.allowed.row),
        allowed_column(s.allowed.column) {
    constexpr int64 far = 1 << 20;
    queries = int(s.queries - q0 < far ? s.queries - q0 : far);
    keys = int(s.keys - k0 < far ? s.keys - k0 : far);
    ahead = int(!s.causal || q0 - k0 > far ? far : q0 - k0);
    if (added) added += q0 * added_row + k0 * added_column;
    if (allowed) allowed += q0 * allowed_row + k0 * allowed_column;
  }
  /// A score as it counts: with what is added to it, -inf for a key that the query does not see.
  __device__ inline C seen(C score, int q, int k) const {
    if (q >= queries || k >= keys || k - q > ahead) return -infinity<C>();
    if (added) {
      const C more = value_of(added[q * added_row + k * added_column]);
      if constexpr (attention_by_exp2<T>) {
        score += more * log2_e;
        // The lowest bfloat16 times log2_e.
        if (score == -infinity<C>() && more != -infinity<C>()) score = lowest_float;
      } else {
        score += more;
      }
    }
    if (allowed && !allowed[q * allowed_row + k * allowed_column]) return -infinity<C>();
    return score;
  }
};

/// The number of the block of random words for key k of `row`, a row of scores counted over all matrices: each row
/// begins a block, and a block has the words of four keys.
__device__ inline uint64 attention_draw(const attention_shape& s, uint64 first, int64 row, int64 k) {
  return first + uint64(row * ((s.keys + 3) / 4) + k / 4);
}
__device__ inline bool attention_keeps(const attention_shape& s, uint32 word) {
  return word >> 8 >= s.dropped;
}

/// The sums of each query that backward needs, eight threads for each of `rows` queries. The sum of slopes times
/// weights is the product of the result and its gradient.
template <class T, class C>
__device__ inline void attention_sums_of(const T* out, const T* dout, const C* logsumexp, attention_sums<C>* sums,
                                         int64 rows, int64 width, bool wide) {
  constexpr int step = int(16 / sizeof(T));
  const int lane = int(threadIdx.x) % 8;
  const uint32 mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
  for (int64 row = first_thread<int64>() / 8; row < rows; row += all_threads<int64>() / 8) {
    C sum = 0;
    if (wide) {
      for (int64 c = lane * step; c < width; c += 8 * step) {
        const auto a = *reinterpret_cast<const vec<T, step>*>(out + row * width + c),
                   b = *reinterpret_cast<const vec<T, step>*>(dout + row * width + c);
#pragma unroll
        for (int i = 0; i < step; ++i) sum += value_of(a[i]) * value_of(b[i]);
      }
    } else {
      for (int64 c = lane; c < width; c += 8)
        sum += value_of(out[row * width + c]) * value_of(dout[row * width + c]);
    }
#pragma unroll
    for (int way = 4; way > 0; way /= 2) sum += __shfl_xor_sync(mask, sum, way);
    if (lane != 0) continue;
    const C whole = logsumexp[row] == -infinity<C>() ? C(0) : logsumexp[row];
    sums[row] = {attention_by_exp2<T> ? whole * C(log2_e) : whole, sum};
  }
}

template <class T, class C>
__device__ inline void give_gradient(T* to, C x, bool add) {
  *to = stored_as<T>(add ? value_of(*to) + x : x);
}

}  // namespace kiln::kernels
