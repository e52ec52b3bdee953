// SPDX-License-Identifier: BSL-1.0
// The gradients of attention_mma.cuh, which make the weights again: a block has a tile of queries and walks over keys
// and values for the gradient of the queries, or has a tile of keys and walks over queries for those of keys and
// values, whose scores are transposed. So weights and slopes are left operands where they are computed, and no sum is
// shared by two blocks. While a block works on one pair of tiles, the next arrives.
#pragma once

#include <kernels/attention_mma.cuh>

namespace kiln::kernels {

/// Whether a block of so many rows, threads and bytes of shared memory is what a tiling takes: its own tiles of two
/// matrices, twice two others with `more` bytes for each row, and four addresses.
template <int W, class Tiling>
__device__ constexpr bool fits_backward(int more, int rows, int threads, int bytes) {
  return rows == Tiling::rows && threads == Tiling::threads &&
         bytes == 4 * W * Tiling::rows + 2 * (4 * W + more) * Tiling::steps + 32;
}

/// The same as draw_rows() where rows are keys and columns are queries. Four lanes share the words of four keys: each
/// draws those of one query and four keys for all of them.
template <int M, int N>
__device__ inline void draw_columns(uint32 (&kept)[M][(N + 7) / 8], const attention_shape& s, uint64 first, int64 row,
                                    int64 k0) {
  const int lane = int(threadIdx.x) % 32, own_key = lane / 4 % 4;
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int word = 0; word < (N + 7) / 8; ++word) {
      uint32 own = 0;
#pragma unroll 1
      for (int j = 0; j < (N < 8 ? N : 8); ++j) {
        const words4 words = philox(attention_draw(s, first, row + mma_column(8 * word + j, own_key % 2),
                                                   k0 + 16 * i + own_key / 2 * 8 + lane / 16 * 4), s.seed);
#pragma unroll
        for (int k = 0; k < 4; ++k) own |= uint32(attention_keeps(s, words.at[k])) << (4 * j + k);
      }
      kept[i][word] = 0;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        kept[i][word] |= (__shfl_sync(0xffffffffu, own, (lane & ~12) + 4 * e) >> own_key & 0x11111111u) << e;
    }
}

/// Sets weights that dropout does not keep to 0, and scales the others.
template <int M, int N>
__device__ inline void drop(float (&weight)[M][N][4], const uint32 (&kept)[M][(N + 7) / 8], float by) {
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) weight[i][j][e] = kept[i][j / 8] >> (4 * (j % 8) + e) & 1 ? weight[i][j][e] * by : 0;
}

/// The weight of a score. Masks may make scores so large that their rounding is more than the difference: no weight is
/// above 1.
template <bool Extras>
__device__ inline float weight_of(float score, float logsumexp) {
  const float exponent = score - logsumexp;
  return fast_exp2(Extras && exponent > 0 ? 0 : exponent);
}

/// Accumulators as a left operand.
template <class Tile, int M, int N>
__device__ inline void as_left(uint32 (&left)[N / 2][M][4], const float (&from)[M][N][4]) {
#pragma unroll
  for (int k = 0; k < N / 2; ++k)
#pragma unroll
    for (int i = 0; i < M; ++i) Tile::round(left[k][i], from[i][2 * k], from[i][2 * k + 1]);
}

/// One block for each tile of queries of each matrix.
template <class T, int W, bool Extras>
__device__ inline void attention_backward_queries(char* memory, const attention_shape& s, const attention_gradient& g,
                                                  T* dq, bool add, const uint64* moved) {
  using tiles = typename attention_mma_tiles<W, Extras>::backward_queries;
  using tile = mma_tile<T, W>;
  constexpr int Rows = tiles::rows, Steps = tiles::steps, M = tiles::m, N = Steps / 8, V = W / 8;
  constexpr int dout = Rows * tile::row_bytes, stages = 2 * dout, buffer = Steps * tile::row_bytes;
  const int all_keys = int(s.keys), q0 = int(gridDim.x - 1 - blockIdx.x) * Rows, matrix = attention_matrix();
  if (matrix >= s.matrices) return;
  const auto warp_row = [] { return opaque(int(threadIdx.x)) / 32 * (16 * M); };
  // Where keys and values begin, in shared memory: the registers are full.
  const T* volatile* const all = reinterpret_cast<const T* volatile*>(memory + stages + 4 * buffer);
  if (threadIdx.x == 0) all[0] = matrix_of<T>(s, s.k, matrix), all[1] = matrix_of<T>(s, s.v, matrix);
  __syncthreads();
  const auto load = [&](int stage, int k0) {
    tile::template load<Steps, tiles::threads>(memory + stage, all[0], s.k.row, s.k.column, s.k.wide, k0, all_keys,
                                               s.width);
    tile::template load<Steps, tiles::threads>(memory + stage + buffer, all[1], s.v.row, s.v.column, s.v.wide, k0,
                                               all_keys, s.value_width);
  };
  const int stop = s.causal && q0 + Rows < all_keys ? q0 + Rows : all_keys;
  tile::template load<Rows, tiles::threads>(memory, matrix_of<T>(s, s.q, matrix), s.q.row, s.q.column, s.q.wide, q0,
                                            int(s.queries), s.width);
  tile::template load<Rows, tiles::threads>(memory + dout, matrix_of<T>(s, g.dout, matrix), g.dout.row, g.dout.column,
                                            g.dout.wide, q0, int(s.queries), s.value_width);
  int stage = stages;
  if (stop > 0) load(stage, 0);
  commit_copies();

  const float scale = float(s.scale) * log2_e;
  float of_q[M][V][4] = {};
  attention_sums<float> known[M][2];
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = q0 + warp_row() + mma_row(i, 2 * half);
      known[i][half] = {};
      if (row < int(s.queries))
        known[i][half] = static_cast<const attention_sums<float>*>(g.sums)[int64(matrix) * s.queries + row];
    }
#pragma unroll 1
  for (int k0 = 0; k0 < stop; k0 += Steps) {
    wait_for_copies<0>();
    __syncthreads();  // all have these tiles, and nobody needs those before any longer
    const int next = 2 * stages + 2 * buffer - stage;
    if (k0 + Steps < stop) load(next, k0 + Steps);
    commit_copies();
    uint32 kept[M][(N + 7) / 8];
    if (Extras && s.drops) draw_rows<M, N>(kept, s, s.first + *moved, int64(matrix) * s.queries + q0 + warp_row(), k0);
    float weight[M][N][4] = {}, slope[M][N][4] = {};
    const int left = warp_row() * tile::row_bytes + tile::lane_place(), right = tile::transposed_lane_place();
    tile::times_transposed(weight, memory, left, stage + right);
    float factor = scale;
    if constexpr (Extras) {
      const attention_view<T, float> view(s, matrix, q0, k0);
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            weight[i][j][e] = view.seen(weight[i][j][e] * scale, warp_row() + mma_row(i, e), mma_column(j, e));
      factor = 1;
    } else if (k0 + Steps > all_keys || (s.causal && k0 + Steps > q0 + warp_row() + 1)) {
      hide_unseen(weight, q0 + warp_row() - k0, all_keys - k0, s.causal);
    }
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
      for (int j = 0; j < N; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          weight[i][j][e] = weight_of<Extras>(weight[i][j][e] * factor, known[i][e / 2].logsumexp);
    tile::times_transposed(slope, memory, dout + left, stage + buffer + right);
    if (Extras && s.drops) drop(slope, kept, float(s.kept));
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
      for (int j = 0; j < N; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          slope[i][j][e] = weight[i][j][e] * (slope[i][j][e] - known[i][e / 2].slopes);
    uint32 slopes[N / 2][M][4];
    as_left<tile>(slopes, slope);
    tile::times(of_q, slopes, memory, stage + tile::lane_place());
    stage = next;
  }
  wait_for_copies<0>();
  store_rows(dq + int64(matrix) * s.queries * s.width, of_q, q0 + warp_row(), int(s.queries), s.width, float(s.scale),
             add);
}

/// One block for each tile of keys of each matrix. dk or dv may be null, or both one place, if dv adds: a thread has
/// the same elements of both.
template <class T, int W, bool Extras>
__device__ inline void attention_backward_keys(char* memory, const attention_shape& s, const attention_gradient& g,
                                               T* dk, T* dv, bool add_k, bool add_v, const uint64* moved) {
  using tiles = typename attention_mma_tiles<W, Extras>::backward_keys;
  using tile = mma_tile<T, W>;
  using sums = attention_sums<float>;
  constexpr int Rows = tiles::rows, Steps = tiles::steps, M = tiles::m, N = Steps / 8, V = W / 8;
  constexpr int values = Rows * tile::row_bytes, stages = 2 * values, buffer = Steps * tile::row_bytes,
                stage_bytes = 2 * buffer + Steps * int(sizeof(sums));
  static_assert(Steps <= tiles::threads, "a thread brings the sums of one query");
  const int queries = int(s.queries), k0 = int(blockIdx.x) * Rows, matrix = attention_matrix();
  if (matrix >= s.matrices) return;
  const auto warp_row = [] { return opaque(int(threadIdx.x)) / 32 * (16 * M); };
  // Where queries and gradients begin, in shared memory: the registers are full.
  const T* volatile* const all = reinterpret_cast<const T* volatile*>(memory + stages + 2 * stage_bytes);
  if (threadIdx.x == 0) all[0] = matrix_of<T>(s, s.q, matrix), all[1] = matrix_of<T>(s, g.dout, matrix);
  __syncthreads();
  const auto load = [&](int stage, int q0) {
    tile::template load<Steps, tiles::threads>(memory + stage, all[0], s.q.row, s.q.column, s.q.wide, q0, queries,
                                               s.width);
    tile::template load<Steps, tiles::threads>(memory + stage + buffer, all[1], g.dout.row, g.dout.column, g.dout.wide,
                                               q0, queries, s.value_width);
    const int thread = opaque(int(threadIdx.x));
    if (thread < Steps)
      copy_async8(memory + stage + 2 * buffer + thread * int(sizeof(sums)),
                  static_cast<const sums*>(g.sums) + int64(matrix) * s.queries + q0 + thread, q0 + thread < queries);
  };
  tile::template load<Rows, tiles::threads>(memory, matrix_of<T>(s, s.k, matrix), s.k.row, s.k.column, s.k.wide, k0,
                                            int(s.keys), s.width);
  tile::template load<Rows, tiles::threads>(memory + values, matrix_of<T>(s, s.v, matrix), s.v.row, s.v.column,
                                            s.v.wide, k0, int(s.keys), s.value_width);
  const int start = s.causal ? k0 / Steps * Steps : 0;
  int stage = stages;
  if (start < queries) load(stage, start);
  commit_copies();

  const float scale = float(s.scale) * log2_e;
  float of_k[M][V][4] = {}, of_v[M][V][4] = {};
#pragma unroll 1
  for (int q0 = start; q0 < queries; q0 += Steps) {
    wait_for_copies<0>();
    __syncthreads();  // all have these tiles, and nobody needs those before any longer
    const int next = 2 * stages + stage_bytes - stage;
    if (q0 + Steps < queries) load(next, q0 + Steps);
    commit_copies();
    uint32 kept[M][(N + 7) / 8];
    if (Extras && s.drops)
      draw_columns<M, N>(kept, s, s.first + *moved, int64(matrix) * s.queries + q0, k0 + warp_row());
    float weight[M][N][4] = {}, slope[M][N][4] = {};
    const int left = warp_row() * tile::row_bytes + tile::lane_place(), right = tile::transposed_lane_place();
    tile::times_transposed(weight, memory, left, stage + right);
    float factor = scale;
    if constexpr (Extras) {
      const attention_view<T, float> view(s, matrix, q0, k0);
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            weight[i][j][e] = view.seen(weight[i][j][e] * scale, mma_column(j, e), warp_row() + mma_row(i, e));
      factor = 1;
    } else if (s.causal && k0 + warp_row() + 16 * M > q0 + 1) {
      const int thread = opaque(int(threadIdx.x)), ahead = q0 - k0 - warp_row();
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (mma_row(i, e, thread) > ahead + mma_column(j, e, thread)) weight[i][j][e] = -infinity<float>();
    }
    // Of queries beyond the last one, gradients and sums are 0, so their weights matter to none.
    const auto known = [&](int j) {
      const sums* const at = reinterpret_cast<const sums*>(memory + stage + 2 * buffer) + mma_column(j, 0);
      return *reinterpret_cast<const vec<sums, 2>*>(at);
    };
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const vec<sums, 2> of = known(j);
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          weight[i][j][e] = weight_of<Extras>(weight[i][j][e] * factor, of.at[e % 2].logsumexp);
    }
    tile::times_transposed(slope, memory, values + left, stage + buffer + right);
    if (Extras && s.drops) drop(slope, kept, float(s.kept));
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const vec<sums, 2> of = known(j);
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) slope[i][j][e] = weight[i][j][e] * (slope[i][j][e] - of.at[e % 2].slopes);
    }
    if (Extras && s.drops) drop(weight, kept, 1);
    uint32 operand[N / 2][M][4];
    as_left<tile>(operand, weight);
    if (dv) tile::times(of_v, operand, memory, stage + buffer + tile::lane_place());
    as_left<tile>(operand, slope);
    if (dk) tile::times(of_k, operand, memory, stage + tile::lane_place());
    stage = next;
  }
  wait_for_copies<0>();
  if (dk)
    store_rows(dk + int64(matrix) * s.keys * s.width, of_k, k0 + warp_row(), int(s.keys), s.width, float(s.scale),
               add_k);
  if (dv)
    store_rows(dv + int64(matrix) * s.keys * s.value_width, of_v, k0 + warp_row(), int(s.keys), s.value_width,
               float(s.kept), add_v);
}

}  // namespace kiln::kernels
