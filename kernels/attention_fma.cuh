// SPDX-License-Identifier: BSL-1.0
// Attention of float and double by multiplications and additions: a block of threads has a tile of queries, walks over
// the tiles of keys, and keeps of each query the largest score so far and the sum of the exponentials. Backward makes
// the weights again, once by tiles of keys for the gradients of keys and values, once by tiles of queries for that of
// the queries.
#pragma once

#include <kernels/attention.cuh>
#include <kernels/fma_tiles.cuh>

namespace kiln::kernels {

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

/// Which weights of a tile dropout keeps; a block of the stream says that of four keys, and every row of weights begins
/// one. Rows of the tile are queries, or keys if those come first.
template <int Queries, int Keys, bool KeysFirst, int Threads>
__device__ inline void draw_tile(bool* to, const attention_shape& s, uint64 first, int64 row, int64 k0) {
  for (int at = int(threadIdx.x); at < Queries * (Keys / 4); at += Threads) {
    const int q = at / (Keys / 4), k = at % (Keys / 4) * 4;
    const words4 words = philox(attention_draw(s, first, row + q, k0 + k), s.seed);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[KeysFirst ? (k + i) * Queries + q : q * Keys + k + i] = attention_keeps(s, words.at[i]);
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
template <class T, int W>
__device__ inline void attention_forward(char* memory, const attention_shape& s, T* out, T* logsumexp,
                                         const uint64* moved) {
  using tiles = typename attention_tiles<T, W>::forward;
  using grid = typename tiles::grid;
  constexpr int Rows = tiles::rows, Steps = tiles::steps, threads = grid::threads;
  constexpr int stride = W + tile_step<T>, weight_stride = Steps + tile_step<T>;
  constexpr int R = grid::template rows<Rows>, N = grid::template columns<Steps>, V = grid::template columns<W>;
  T *const q = reinterpret_cast<T*>(memory), *const k = q + Rows * stride, *const v = k + Steps * stride,
           *const weights = v + Steps * stride;
  bool* const kept = reinterpret_cast<bool*>(weights + Rows * weight_stride);
  const int64 matrix = attention_matrix(), q0 = int64(gridDim.x - 1 - blockIdx.x) * Rows;
  if (matrix >= s.matrices) return;
  const T *const all_k = matrix_of<T>(s, s.k, int(matrix)), *const all_v = matrix_of<T>(s, s.v, int(matrix));
  load_tile<Rows, W, threads>(q, s.q, matrix_of<T>(s, s.q, int(matrix)), q0, s.queries, s.width);
  const uint64 first = s.drops ? s.first + *moved : 0;
  const int depth = (s.width + 15) / 16 * 16;
  const T scale = T(s.scale);
  T mixed[R][V] = {}, most[R], sum[R];
#pragma unroll
  for (int i = 0; i < R; ++i) most[i] = -infinity<T>(), sum[i] = 0;
  const int64 stop = s.causal && q0 + Rows < s.keys ? q0 + Rows : s.keys;
  for (int64 k0 = 0; k0 < stop; k0 += Steps) {
    __syncthreads();  // the tiles before have been read
    load_tile<Steps, W, threads>(k, s.k, all_k, k0, s.keys, s.width);
    load_tile<Steps, W, threads>(v, s.v, all_v, k0, s.keys, s.value_width);
    if (s.drops) draw_tile<Rows, Steps, false, threads>(kept, s, first, matrix * s.queries + q0, k0);
    __syncthreads();
    T score[R][N] = {};
    grid::times_transposed(score, q, stride, k, stride, depth);
    const attention_view<T, T> view(s, int(matrix), q0, k0);
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int r = grid::row(i);
      T now = most[i];
#pragma unroll
      for (int j = 0; j < N; ++j) {
        score[i][j] = view.seen(score[i][j] * scale, r, grid::template column<N>(j));
        now = attention_larger{}(now, score[i][j]);
      }
      now = fold_row<grid>(now, attention_larger{});
      // While nothing has been seen, any base will do.
      const T base = now == -infinity<T>() ? T(0) : now;
      const T shrunk = most[i] == now ? T(1) : exp(most[i] - base);
      most[i] = now;
      sum[i] *= shrunk;
#pragma unroll
      for (int c = 0; c < V; ++c) mixed[i][c] *= shrunk;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const int c = grid::template column<N>(j);
        const T weight = exp(score[i][j] - base);
        sum[i] += weight;
        weights[r * weight_stride + c] = stored_as<T>(s.drops && !kept[r * Steps + c] ? T(0) : weight);
      }
    }
    __syncwarp();  // a row is within one warp
    grid::times(mixed, weights, weight_stride, v, stride, Steps);
  }
#pragma unroll
  for (int i = 0; i < R; ++i) {
    const T whole = fold_row<grid>(sum[i], attention_plus{}), share = whole == T(0) ? T(0) : T(s.kept) / whole;
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

/// From a product of query and key, the weight that it had, and from the slope of the weighted value that of the score
/// over the scale. Of a weight that dropout keeps only that.
template <class T>
__device__ inline void weight_and_slope(const attention_shape& s, const attention_view<T, T>& view, int q, int k,
                                        bool kept, const attention_sums<T>& known, T& weight, T& slope) {
  const T score = view.seen(weight * T(s.scale), q, k);
  const T before = exp(score - known.logsumexp);
  weight = kept ? before : T(0);
  slope = before * ((kept ? slope * T(s.kept) : T(0)) - known.slopes);
}

/// One block for each tile of keys of each matrix. dk or dv may be null, or both one place, if dv adds: a thread has
/// the same elements of both.
template <class T, int W>
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
  const int64 matrix = attention_matrix(), k0 = int64(blockIdx.x) * Rows;
  if (matrix >= s.matrices) return;
  const T *const all_q = matrix_of<T>(s, s.q, int(matrix)), *const all_dout = matrix_of<T>(s, g.dout, int(matrix));
  const attention_sums<T>* const sums = static_cast<const attention_sums<T>*>(g.sums) + matrix * s.queries;
  load_tile<Rows, W, threads>(k, s.k, matrix_of<T>(s, s.k, int(matrix)), k0, s.keys, s.width);
  load_tile<Rows, W, threads>(v, s.v, matrix_of<T>(s, s.v, int(matrix)), k0, s.keys, s.value_width);
  const uint64 first = s.drops ? s.first + *moved : 0;
  const int depth = (s.width + 15) / 16 * 16, value_depth = (s.value_width + 15) / 16 * 16;
  T of_k[R][V] = {}, of_v[R][V] = {};
  for (int64 q0 = s.causal ? k0 / Steps * Steps : 0; q0 < s.queries; q0 += Steps) {
    __syncthreads();
    load_tile<Steps, W, threads>(q, s.q, all_q, q0, s.queries, s.width);
    load_tile<Steps, W, threads>(dout, g.dout, all_dout, q0, s.queries, s.value_width);
    if (s.drops) draw_tile<Steps, Rows, true, threads>(kept, s, first, matrix * s.queries + q0, k0);
    __syncthreads();
    T weight[R][N] = {}, slope[R][N] = {};
    grid::times_transposed(weight, k, stride, q, stride, depth);
    grid::times_transposed(slope, v, stride, dout, stride, value_depth);
    const attention_view<T, T> view(s, int(matrix), q0, k0);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int c = grid::template column<N>(j);
      const attention_sums<T> known = q0 + c < s.queries ? sums[q0 + c] : attention_sums<T>{};
#pragma unroll
      for (int i = 0; i < R; ++i) {
        const int r = grid::row(i);
        weight_and_slope<T>(s, view, c, r, !s.drops || kept[r * Steps + c], known, weight[i][j], slope[i][j]);
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
        give_gradient(dk + (matrix * s.keys + row) * s.width + column, of_k[i][c] * T(s.scale), add_k);
      if (dv && column < s.value_width)
        give_gradient(dv + (matrix * s.keys + row) * s.value_width + column, of_v[i][c] * T(s.kept), add_v);
    }
  }
}

/// One block for each tile of queries of each matrix.
template <class T, int W>
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
  const int64 matrix = attention_matrix(), q0 = int64(gridDim.x - 1 - blockIdx.x) * Rows;
  if (matrix >= s.matrices) return;
  const T *const all_k = matrix_of<T>(s, s.k, int(matrix)), *const all_v = matrix_of<T>(s, s.v, int(matrix));
  load_tile<Rows, W, threads>(q, s.q, matrix_of<T>(s, s.q, int(matrix)), q0, s.queries, s.width);
  load_tile<Rows, W, threads>(dout, g.dout, matrix_of<T>(s, g.dout, int(matrix)), q0, s.queries, s.value_width);
  const uint64 first = s.drops ? s.first + *moved : 0;
  const int depth = (s.width + 15) / 16 * 16, value_depth = (s.value_width + 15) / 16 * 16;
  T of_q[R][V] = {};
  attention_sums<T> known[R];
#pragma unroll
  for (int i = 0; i < R; ++i) {
    const int64 row = q0 + grid::row(i);
    known[i] = row < s.queries ? static_cast<const attention_sums<T>*>(g.sums)[matrix * s.queries + row]
                               : attention_sums<T>{};
  }
  const int64 stop = s.causal && q0 + Rows < s.keys ? q0 + Rows : s.keys;
  for (int64 k0 = 0; k0 < stop; k0 += Steps) {
    __syncthreads();
    load_tile<Steps, W, threads>(k, s.k, all_k, k0, s.keys, s.width);
    load_tile<Steps, W, threads>(v, s.v, all_v, k0, s.keys, s.value_width);
    if (s.drops) draw_tile<Rows, Steps, false, threads>(kept, s, first, matrix * s.queries + q0, k0);
    __syncthreads();
    T weight[R][N] = {}, slope[R][N] = {};
    grid::times_transposed(weight, q, stride, k, stride, depth);
    grid::times_transposed(slope, dout, stride, v, stride, value_depth);
    const attention_view<T, T> view(s, int(matrix), q0, k0);
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int r = grid::row(i);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const int c = grid::template column<N>(j);
        weight_and_slope<T>(s, view, r, c, !s.drops || kept[r * Steps + c], known[i], weight[i][j], slope[i][j]);
        slopes[r * weight_stride + c] = stored_as<T>(slope[i][j]);
      }
    }
    __syncwarp();  // a row is within one warp
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
        give_gradient(dq + (matrix * s.queries + row) * s.width + column, of_q[i][c] * T(s.scale), add);
    }
  }
}

}  // namespace kiln::kernels
