// SPDX-License-Identifier: BSL-1.0
// Attention without its matrix of scores, as on the processor (device/cpu/products/attention.hpp): a block of threads
// has a tile of queries, walks over the tiles of keys, and keeps of each query the largest score so far and the sum of
// the exponentials. Backward makes the weights again, once by tiles of keys for the gradients of keys and values, once
// by tiles of queries for that of the queries: each sum is made by one thread, in one order.
#pragma once

#include <kernels/random.cuh>
#include <kernels/tiles.cuh>

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

/// Who computes what of a tile, the rows that a block has, and those of the tiles that it walks over.
template <class Grid, int Rows, int Steps>
struct tiling {
  using grid = Grid;
  static constexpr int rows = Rows, steps = Steps;
};
/// Of queries, keys and values in rows of W elements: as large as registers and 99 KiB of shared memory allow, which
/// every GPU from sm_80 on has.
template <class T, int W>
struct attention_tiles {
  static constexpr int steps = sizeof(T) == 8 && W > 32 ? 16 : 32;
  using forward = tiling<fma_grid<T>, (sizeof(T) == 4 ? 64 : 32), steps>;
  using backward = tiling<fma_grid<T>, steps, steps>;
};
template <class T, int W>
struct half_attention_tiles {
  static constexpr int steps = W > 64 ? 32 : 64;
  using forward = tiling<mma_grid<T, 1>, 64, steps>;
  using backward = tiling<mma_grid<T, 2>, 64, steps>;
};
template <int W>
struct attention_tiles<half, W> : half_attention_tiles<half, W> {};
template <int W>
struct attention_tiles<bfloat16, W> : half_attention_tiles<bfloat16, W> {};

/// Whether a block of so many rows, threads and bytes of shared memory is what a tiling takes. Forward has a tile of
/// queries, one of keys, one of values and the weights; backward two fixed tiles, two others, weights and slopes; and
/// both what dropout keeps.
template <class T, int W, class Tiling>
__device__ constexpr bool fits_block(bool forward, int rows, int threads, int bytes) {
  constexpr int pad = tile_step<T>, tiles = Tiling::rows + Tiling::steps,
                weights = Tiling::rows * (Tiling::steps + pad);
  const int elements = (forward ? tiles + Tiling::steps : 2 * tiles) * (W + pad) + (forward ? weights : 2 * weights);
  return rows == Tiling::rows && threads == Tiling::grid::threads &&
         bytes == elements * int(sizeof(T)) + Tiling::rows * Tiling::steps;
}

/// Where matrix `number` begins; null if there are no such matrices.
template <class T>
__device__ inline const T* matrix_of(const attention_shape& s, const attention_matrices& m, int64 number) {
  if (m.data == nullptr) return nullptr;
  int64 offset = 0;
  for (int i = s.rank - 1; i > 0; --i) {
    offset += number % s.sizes[i] * m.stack[i];
    number /= s.sizes[i];
  }
  if (s.rank > 0) offset += number * m.stack[0];
  return static_cast<const T*>(m.data) + offset;
}

/// Brings rows [first, first + Rows) into shared memory, with zeros for what there is not.
template <int Rows, int W, int Threads, class T>
__device__ inline void load_tile(T* to, const attention_matrices& m, const T* from, int64 first, int64 end, int width) {
  constexpr int step = tile_step<T>, stride = W + step;
  if (m.wide) {
#pragma unroll 4
    for (int at = int(threadIdx.x); at < Rows * (W / step); at += Threads) {
      const int r = at / (W / step), c = at % (W / step) * step;
      vec<T, step> x = {};
      if (first + r < end && c < width) x = *reinterpret_cast<const vec<T, step>*>(from + (first + r) * m.row + c);
      *reinterpret_cast<vec<T, step>*>(to + r * stride + c) = x;
    }
  } else {
#pragma unroll 4
    for (int at = int(threadIdx.x); at < Rows * W; at += Threads) {
      const int r = at / W, c = at % W;
      T x = {};
      if (first + r < end && c < width) x = from[(first + r) * m.row + c * m.column];
      to[r * stride + c] = x;
    }
  }
}

/// What a tile of queries may see of a tile of keys.
template <class T, class C>
struct attention_view {
  const T* added;
  const bool* allowed;
  int64 added_row, added_column, allowed_row, allowed_column;
  int queries, keys, ahead;  ///< of this tile; how many keys more than its own number a query sees

  __device__ inline attention_view(const attention_shape& s, int64 matrix, int64 q0, int64 k0)
      : added(matrix_of<T>(s, s.added, matrix)),
        allowed(matrix_of<bool>(s, s.allowed, matrix)),
        added_row(s.added.row),
        added_column(s.added.column),
        allowed_row(s.allowed.row),
        allowed_column(s.allowed.column) {
    move_to(s, q0, k0);
    if (added) added += q0 * added_row + k0 * added_column;
    if (allowed) allowed += q0 * allowed_row + k0 * allowed_column;
  }
  __device__ inline void move_to(const attention_shape& s, int64 q0, int64 k0) {
    constexpr int64 far = 1 << 20;
    queries = int(s.queries - q0 < far ? s.queries - q0 : far);
    keys = int(s.keys - k0 < far ? s.keys - k0 : far);
    ahead = int(!s.causal || q0 - k0 > far ? far : q0 - k0);
  }
  /// A score as it counts: with what is added to it, -inf for a key that the query does not see.
  __device__ inline C seen(C score, int q, int k) const {
    if (q >= queries || k >= keys || k - q > ahead) return -infinity<C>();
    if (added) score += value_of(added[q * added_row + k * added_column]);
    if (allowed && !allowed[q * allowed_row + k * allowed_column]) return -infinity<C>();
    return score;
  }
};

/// exp(x), for what is rounded to a half type after it by the function that the hardware has.
template <class T, class C>
__device__ inline C attention_exp(C x) {
  if constexpr (sizeof(T) == 2)
    return exp2(x * 1.44269504088896341f);
  else
    return exp(x);
}

/// Which weights of a tile dropout keeps; a block of the stream says that of four keys, and every row of weights begins
/// one. Rows of the tile are queries, or keys if those come first.
template <int Queries, int Keys, bool KeysFirst, int Threads>
__device__ inline void draw_tile(bool* to, const attention_shape& s, uint64 first, int64 row, int64 k0) {
  for (int at = int(threadIdx.x); at < Queries * (Keys / 4); at += Threads) {
    const int q = at / (Keys / 4), k = at % (Keys / 4) * 4;
    const words4 words = philox(first + uint64((row + q) * ((s.keys + 3) / 4) + (k0 + k) / 4), s.seed);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[KeysFirst ? (k + i) * Queries + q : q * Keys + k + i] = words.at[i] >> 8 >= s.dropped;
  }
}

/// The larger one, or a nan.
struct attention_larger {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a > b || a != a ? a : b;
  }
};
struct attention_plus {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a + b;
  }
};

/// One block for each tile of queries of each matrix, the last ones first: of a causal job they take longest.
template <class T, int W, class C>
__device__ inline void attention_forward(char* memory, const attention_shape& s, T* out, C* logsumexp,
                                         const uint64* moved) {
  using tiles = typename attention_tiles<T, W>::forward;
  using grid = typename tiles::grid;
  constexpr int Rows = tiles::rows, Steps = tiles::steps, threads = grid::threads;
  constexpr int stride = W + tile_step<T>, weight_stride = Steps + tile_step<T>;
  constexpr int R = grid::template rows<Rows>, N = grid::template columns<Steps>, V = grid::template columns<W>;
  T *const q = reinterpret_cast<T*>(memory), *const k = q + Rows * stride, *const v = k + Steps * stride,
           *const weights = v + Steps * stride;
  bool* const kept = reinterpret_cast<bool*>(weights + Rows * weight_stride);
  const int64 count = (s.queries + Rows - 1) / Rows, matrix = int64(blockIdx.x) / count,
              q0 = (count - 1 - int64(blockIdx.x) % count) * Rows;
  const T *const all_k = matrix_of<T>(s, s.k, matrix), *const all_v = matrix_of<T>(s, s.v, matrix);
  load_tile<Rows, W, threads>(q, s.q, matrix_of<T>(s, s.q, matrix), q0, s.queries, s.width);
  const uint64 first = s.drops ? s.first + *moved : 0;
  const int depth = (s.width + 15) / 16 * 16;
  const C scale = C(s.scale);
  C mixed[R][V] = {}, most[R], sum[R];
#pragma unroll
  for (int i = 0; i < R; ++i) most[i] = -infinity<C>(), sum[i] = 0;
  const int64 stop = s.causal && q0 + Rows < s.keys ? q0 + Rows : s.keys;
  for (int64 k0 = 0; k0 < stop; k0 += Steps) {
    __syncthreads();  // the tiles before have been read
    load_tile<Steps, W, threads>(k, s.k, all_k, k0, s.keys, s.width);
    load_tile<Steps, W, threads>(v, s.v, all_v, k0, s.keys, s.value_width);
    if (s.drops) draw_tile<Rows, Steps, false, threads>(kept, s, first, matrix * s.queries + q0, k0);
    __syncthreads();
    C score[R][N] = {};
    grid::times_transposed(score, q, stride, k, stride, depth);
    const attention_view<T, C> view(s, matrix, q0, k0);
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int r = grid::row(i);
      C now = most[i];
#pragma unroll
      for (int j = 0; j < N; ++j) {
        score[i][j] = view.seen(score[i][j] * scale, r, grid::template column<N>(j));
        now = attention_larger{}(now, score[i][j]);
      }
      now = fold_row<grid>(now, attention_larger{});
      // While nothing has been seen, any base will do.
      const C base = now == -infinity<C>() ? C(0) : now;
      const C shrunk = most[i] == now ? C(1) : attention_exp<T>(most[i] - base);
      most[i] = now;
      sum[i] *= shrunk;
#pragma unroll
      for (int c = 0; c < V; ++c) mixed[i][c] *= shrunk;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const int c = grid::template column<N>(j);
        const C weight = attention_exp<T>(score[i][j] - base);
        sum[i] += weight;
        weights[r * weight_stride + c] = stored_as<T>(s.drops && !kept[r * Steps + c] ? C(0) : weight);
      }
    }
    __syncwarp();  // a row is within one warp
    grid::times(mixed, weights, weight_stride, v, stride, Steps);
  }
#pragma unroll
  for (int i = 0; i < R; ++i) {
    const C whole = fold_row<grid>(sum[i], attention_plus{}), share = whole == C(0) ? C(0) : C(s.kept) / whole;
    const int64 row = q0 + grid::row(i);
    if (row >= s.queries) continue;
    if (int(threadIdx.x) % grid::sharing == 0) logsumexp[matrix * s.queries + row] = most[i] + log(whole);
#pragma unroll
    for (int c = 0; c < V; ++c) {
      const int column = grid::template column<V>(c);
      if (column < s.value_width)
        out[(matrix * s.queries + row) * s.value_width + column] = stored_as<T>(mixed[i][c] * share);
    }
  }
}

/// What each slope of a query has too much: the sum of all, weighted, which is the product of the result and its
/// gradient. A warp for each of `rows`.
template <class T, class C>
__device__ inline void attention_common(const T* out, const T* dout, C* common, int64 rows, int64 width) {
  for (int64 row = first_thread<int64>() / 32; row < rows; row += all_threads<int64>() / 32) {
    C sum = 0;
    for (int64 c = threadIdx.x % 32; c < width; c += 32)
      sum += value_of(out[row * width + c]) * value_of(dout[row * width + c]);
#pragma unroll
    for (int way = 16; way > 0; way /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, way);
    if (threadIdx.x % 32 == 0) common[row] = sum;
  }
}

/// What backward is given besides the job.
struct attention_gradient {
  attention_matrices dout;
  const void *logsumexp, *common;  ///< of each query
};

/// From a product of query and key, the weight that it had, and from the slope of the weighted value that of the score
/// over the scale. Of a weight that dropout keeps only that.
template <class T, class C>
__device__ inline void weight_and_slope(const attention_shape& s, const attention_view<T, C>& view, int q, int k,
                                        bool kept, C whole, C common, C& weight, C& slope) {
  const C score = view.seen(weight * C(s.scale), q, k);
  const C before = attention_exp<T>(score - (whole == -infinity<C>() ? C(0) : whole));
  weight = kept ? before : C(0);
  slope = before * ((kept ? slope * C(s.kept) : C(0)) - common);
}

template <class T, class C>
__device__ inline void give_gradient(T* to, C x, bool add) {
  *to = stored_as<T>(add ? value_of(*to) + x : x);
}

/// One block for each tile of keys of each matrix. dk or dv may be null, or both one place, if dv adds: a thread has
/// the same elements of both.
template <class T, int W, class C>
__device__ inline void attention_backward_keys(char* memory, const attention_shape& s, const attention_gradient& g,
                                               T* dk, T* dv, bool add_k, bool add_v, const uint64* moved) {
  using tiles = typename attention_tiles<T, W>::backward;
  using grid = typename tiles::grid;
  constexpr int Rows = tiles::rows, Steps = tiles::steps, threads = grid::threads;
  constexpr int stride = W + tile_step<T>, weight_stride = Steps + tile_step<T>;
  constexpr int R = grid::template rows<Rows>, N = grid::template columns<Steps>, V = grid::template columns<W>;
  T *const k = reinterpret_cast<T*>(memory), *const v = k + Rows * stride, *const q = v + Rows * stride,
           *const dout = q + Steps * stride, *const weights = dout + Steps * stride,
           *const slopes = weights + Rows * weight_stride;
  bool* const kept = reinterpret_cast<bool*>(slopes + Rows * weight_stride);
  const int64 count = (s.keys + Rows - 1) / Rows, matrix = int64(blockIdx.x) / count,
              k0 = int64(blockIdx.x) % count * Rows;
  const T *const all_q = matrix_of<T>(s, s.q, matrix), *const all_dout = matrix_of<T>(s, g.dout, matrix);
  const C *const logsumexp = static_cast<const C*>(g.logsumexp) + matrix * s.queries, *const common =
                                                                                          static_cast<const C*>(
                                                                                              g.common) +
                                                                                          matrix * s.queries;
  load_tile<Rows, W, threads>(k, s.k, matrix_of<T>(s, s.k, matrix), k0, s.keys, s.width);
  load_tile<Rows, W, threads>(v, s.v, matrix_of<T>(s, s.v, matrix), k0, s.keys, s.value_width);
  const uint64 first = s.drops ? s.first + *moved : 0;
  const int depth = (s.width + 15) / 16 * 16, value_depth = (s.value_width + 15) / 16 * 16;
  C of_k[R][V] = {}, of_v[R][V] = {};
  for (int64 q0 = s.causal ? k0 / Steps * Steps : 0; q0 < s.queries; q0 += Steps) {
    __syncthreads();
    load_tile<Steps, W, threads>(q, s.q, all_q, q0, s.queries, s.width);
    load_tile<Steps, W, threads>(dout, g.dout, all_dout, q0, s.queries, s.value_width);
    if (s.drops) draw_tile<Steps, Rows, true, threads>(kept, s, first, matrix * s.queries + q0, k0);
    __syncthreads();
    C weight[R][N] = {}, slope[R][N] = {};
    grid::times_transposed(weight, k, stride, q, stride, depth);
    grid::times_transposed(slope, v, stride, dout, stride, value_depth);
    const attention_view<T, C> view(s, matrix, q0, k0);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int c = grid::template column<N>(j);
      const bool there = q0 + c < s.queries;
      const C whole = there ? logsumexp[q0 + c] : C(0), less = there ? common[q0 + c] : C(0);
#pragma unroll
      for (int i = 0; i < R; ++i) {
        const int r = grid::row(i);
        weight_and_slope<T>(s, view, c, r, !s.drops || kept[r * Steps + c], whole, less, weight[i][j], slope[i][j]);
        weights[r * weight_stride + c] = stored_as<T>(weight[i][j]);
        slopes[r * weight_stride + c] = stored_as<T>(slope[i][j]);
      }
    }
    __syncthreads();
    if (dv) grid::times(of_v, weights, weight_stride, dout, stride, Steps);
    if (dk) grid::times(of_k, slopes, weight_stride, q, stride, Steps);
  }
#pragma unroll
  for (int i = 0; i < R; ++i) {
    const int64 row = k0 + grid::row(i);
    if (row >= s.keys) continue;
#pragma unroll
    for (int c = 0; c < V; ++c) {
      const int column = grid::template column<V>(c);
      if (dk && column < s.width)
        give_gradient(dk + (matrix * s.keys + row) * s.width + column, of_k[i][c] * C(s.scale), add_k);
      if (dv && column < s.value_width)
        give_gradient(dv + (matrix * s.keys + row) * s.value_width + column, of_v[i][c] * C(s.kept), add_v);
    }
  }
}

/// One block for each tile of queries of each matrix.
template <class T, int W, class C>
__device__ inline void attention_backward_queries(char* memory, const attention_shape& s, const attention_gradient& g,
                                                  T* dq, bool add, const uint64* moved) {
  using tiles = typename attention_tiles<T, W>::backward;
  using grid = typename tiles::grid;
  constexpr int Rows = tiles::rows, Steps = tiles::steps, threads = grid::threads;
  constexpr int stride = W + tile_step<T>, weight_stride = Steps + tile_step<T>;
  constexpr int R = grid::template rows<Rows>, N = grid::template columns<Steps>, V = grid::template columns<W>;
  T *const q = reinterpret_cast<T*>(memory), *const dout = q + Rows * stride, *const k = dout + Rows * stride,
           *const v = k + Steps * stride, *const slopes = v + Steps * stride;
  bool* const kept = reinterpret_cast<bool*>(slopes + Rows * weight_stride);
  const int64 count = (s.queries + Rows - 1) / Rows, matrix = int64(blockIdx.x) / count,
              q0 = (count - 1 - int64(blockIdx.x) % count) * Rows;
  const T *const all_k = matrix_of<T>(s, s.k, matrix), *const all_v = matrix_of<T>(s, s.v, matrix);
  load_tile<Rows, W, threads>(q, s.q, matrix_of<T>(s, s.q, matrix), q0, s.queries, s.width);
  load_tile<Rows, W, threads>(dout, g.dout, matrix_of<T>(s, g.dout, matrix), q0, s.queries, s.value_width);
  const uint64 first = s.drops ? s.first + *moved : 0;
  const int depth = (s.width + 15) / 16 * 16, value_depth = (s.value_width + 15) / 16 * 16;
  C of_q[R][V] = {}, whole[R], less[R];
#pragma unroll
  for (int i = 0; i < R; ++i) {
    const int64 row = q0 + grid::row(i);
    whole[i] = row < s.queries ? static_cast<const C*>(g.logsumexp)[matrix * s.queries + row] : C(0);
    less[i] = row < s.queries ? static_cast<const C*>(g.common)[matrix * s.queries + row] : C(0);
  }
  const int64 stop = s.causal && q0 + Rows < s.keys ? q0 + Rows : s.keys;
  for (int64 k0 = 0; k0 < stop; k0 += Steps) {
    __syncthreads();
    load_tile<Steps, W, threads>(k, s.k, all_k, k0, s.keys, s.width);
    load_tile<Steps, W, threads>(v, s.v, all_v, k0, s.keys, s.value_width);
    if (s.drops) draw_tile<Rows, Steps, false, threads>(kept, s, first, matrix * s.queries + q0, k0);
    __syncthreads();
    C weight[R][N] = {}, slope[R][N] = {};
    grid::times_transposed(weight, q, stride, k, stride, depth);
    grid::times_transposed(slope, dout, stride, v, stride, value_depth);
    const attention_view<T, C> view(s, matrix, q0, k0);
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int r = grid::row(i);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const int c = grid::template column<N>(j);
        weight_and_slope<T>(s, view, r, c, !s.drops || kept[r * Steps + c], whole[i], less[i], weight[i][j],
                            slope[i][j]);
        slopes[r * weight_stride + c] = stored_as<T>(slope[i][j]);
      }
    }
    if constexpr (grid::row_in_warp)
      __syncwarp();
    else
      __syncthreads();
    grid::times(of_q, slopes, weight_stride, k, stride, Steps);
  }
#pragma unroll
  for (int i = 0; i < R; ++i) {
    const int64 row = q0 + grid::row(i);
    if (row >= s.queries) continue;
#pragma unroll
    for (int c = 0; c < V; ++c) {
      const int column = grid::template column<V>(c);
      if (column < s.width)
        give_gradient(dq + (matrix * s.queries + row) * s.width + column, of_q[i][c] * C(s.scale), add);
    }
  }
}

}  // namespace kiln::kernels
