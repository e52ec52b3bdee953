// SPDX-License-Identifier: BSL-1.0
// Attention of half and bfloat16 on tensor cores, by FlashAttention-2's scheme (Dao 2023). A block of threads has a
// tile of queries and walks over tiles of keys. Tiles of keys and values arrive in a ring of three buffers while
// earlier ones are used. The scores stay in registers, become weights by powers of two, and are the left operand of the
// product with the values in the same registers.
#pragma once

#include <kernels/attention.cuh>
#include <kernels/mma_tiles.cuh>

namespace kiln::kernels {

/// How the work of a block is cut: `warps` warps of 16 M rows each, which walk over tiles of `steps` rows.
template <int Warps, int M, int Steps>
struct mma_tiling {
  static constexpr int warps = Warps, m = M, rows = 16 * M * Warps, steps = Steps, threads = 32 * Warps;
};
/// The tilings for rows of W elements. What ldmatrix brings for a right operand serves 16 M rows: with M = 1 shared
/// memory is busier than the tensor cores. M is 2 where the registers allow it, which they do not with `Extras`.
template <int W, bool Extras>
struct attention_mma_tiles {
  using forward = mma_tiling<4, Extras ? 1 : 2, 64>;
  using backward_queries = mma_tiling<4, Extras ? 1 : 2, 32>;
  using backward_keys = mma_tiling<4, (Extras || W > 64 ? 1 : 2), (Extras || W <= 64 ? 32 : 64)>;
};

/// A weight is 2 to the score less a base: the largest score when the base was set. The base is set again, and the sums
/// are scaled, only when a score exceeds it by more than this: weights up to 256 cost no accuracy.
inline constexpr float most_growth = 8;

/// 2^x by the hardware's instruction, within 2 ulp; results below the normal numbers are 0.
__device__ inline float fast_exp2(float x) {
#if defined(__CUDA_ARCH__)
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
#else
  return exp2(x);
#endif
}

/// Whether a block of so many rows, threads and bytes of shared memory is what a tiling takes: a tile of queries and
/// three of keys or values, and two addresses.
template <int W, class Tiling>
__device__ constexpr bool fits_forward(int rows, int threads, int bytes) {
  return rows == Tiling::rows && threads == Tiling::threads && bytes == 2 * W * (Tiling::rows + 3 * Tiling::steps) + 16;
}

/// Which of a warp's weights dropout keeps: bit 4 (j % 8) + e of [i][j / 8] says it of weight[i][j][e]. Rows are
/// queries, of which `row` is the warp's first, counted over all matrices; columns are keys from `k0` on. Two lanes
/// share the words of four keys: the even one draws those of the upper row, the odd one those of the lower, and they
/// exchange halves.
template <int M, int N>
__device__ inline void draw_rows(uint32 (&kept)[M][(N + 7) / 8], const attention_shape& s, uint64 first, int64 row,
                                 int64 k0) {
  const int lane = int(threadIdx.x) % 32, odd = lane % 2;
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int word = 0; word < (N + 7) / 8; ++word) {
      uint32 own = 0;
#pragma unroll 1
      for (int j = 0; j < (N < 8 ? N : 8); ++j) {
        const words4 words = philox(attention_draw(s, first, row + mma_row(i, 2 * odd),
                                                   k0 + 8 * (8 * word + j) + lane % 4 / 2 * 4), s.seed);
#pragma unroll
        for (int k = 0; k < 4; ++k) own |= uint32(attention_keeps(s, words.at[k])) << (4 * j + k);
      }
      const uint32 other = __shfl_xor_sync(0xffffffffu, own, 1);
      kept[i][word] = odd ? (other >> 2 & 0x33333333u) | (own & 0xccccccccu)
                          : (own & 0x33333333u) | (other & 0x33333333u) << 2;
    }
}

/// Joins what the four lanes of a row have; each gets the result.
template <class Fold>
__device__ inline float fold_quad(float x, Fold fold) {
  x = fold(x, __shfl_xor_sync(0xffffffffu, x, 2));
  return fold(x, __shfl_xor_sync(0xffffffffu, x, 1));
}

/// Stores `by` times a warp's rows, of which the first is row `first` of the matrix `to` of `rows` rows and `width`
/// columns, or adds that to what is there.
template <class T, int M, int V>
__device__ inline void store_rows(T* to, const float (&from)[M][V][4], int first, int rows, int width, float by,
                                  bool add) {
  const bool pairs = width % 2 == 0 && reinterpret_cast<uint64>(to) % 4 == 0;
  const int thread = opaque(int(threadIdx.x));
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
      const int row = first + mma_row(i, e, thread), left = row < rows ? width - mma_column(0, 0, thread) : 0;
      T* const at = to + int64(row) * width + mma_column(0, 0, thread);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        float a = from[i][j][e] * by, b = from[i][j][e + 1] * by;
        T* const here = at + 8 * j;
        if (8 * j < left && add) a += value_of(here[0]);
        if (8 * j + 1 < left && add) b += value_of(here[1]);
        if (pairs) {
          if (8 * j < left) *reinterpret_cast<vec<T, 2>*>(here) = bits_as<vec<T, 2>>(packed<T>(a, b));
        } else {
          if (8 * j < left) here[0] = stored_as<T>(a);
          if (8 * j + 1 < left) here[1] = stored_as<T>(b);
        }
      }
    }
}

/// Sets scores of keys that a query does not see to -inf. Rows are queries: row r sees the first `keys` columns, and of
/// a causal job those up to `ahead` + r.
template <int M, int N>
__device__ inline void hide_unseen(float (&score)[M][N][4], int ahead, int keys, bool causal) {
  const int thread = opaque(int(threadIdx.x));
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
      const int seen = ahead + mma_row(i, e, thread),
                last = (causal && seen < keys ? seen : keys - 1) - mma_column(0, 0, thread);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        if (8 * j > last) score[i][j][e] = -infinity<float>();
        if (8 * j + 1 > last) score[i][j][e + 1] = -infinity<float>();
      }
    }
}

/// One block for each tile of queries of each matrix, the last ones first: of a causal job they take longest. `Extras`
/// says whether there may be masks, dropout, or a scale that is not positive.
template <class T, int W, bool Extras>
__device__ inline void attention_forward(char* memory, const attention_shape& s, T* out, float* logsumexp,
                                         const uint64* moved) {
  using tiles = typename attention_mma_tiles<W, Extras>::forward;
  using tile = mma_tile<T, W>;
  constexpr int Rows = tiles::rows, Steps = tiles::steps, M = tiles::m, N = Steps / 8, V = W / 8;
  constexpr int buffer = Steps * tile::row_bytes, ring = Rows * tile::row_bytes;
  const int all_keys = int(s.keys), q0 = int(gridDim.x - 1 - blockIdx.x) * Rows, matrix = attention_matrix();
  if (matrix >= s.matrices) return;
  const auto warp_row = [] { return opaque(int(threadIdx.x)) / 32 * (16 * M); };
  // Where keys and values begin, in shared memory: the registers are full.
  const T* volatile* const all = reinterpret_cast<const T* volatile*>(memory + ring + 3 * buffer);
  if (threadIdx.x == 0) all[0] = matrix_of<T>(s, s.k, matrix), all[1] = matrix_of<T>(s, s.v, matrix);
  __syncthreads();
  const auto load_keys = [&](int to, int k0) {
    tile::template load<Steps, tiles::threads>(memory + to, all[0], s.k.row, s.k.column, s.k.wide, k0, all_keys,
                                               s.width);
  };
  const auto load_values = [&](int to, int k0) {
    tile::template load<Steps, tiles::threads>(memory + to, all[1], s.v.row, s.v.column, s.v.wide, k0, all_keys,
                                               s.value_width);
  };
  const int stop = s.causal && q0 + Rows < all_keys ? q0 + Rows : all_keys;
  int keys = ring, values = ring + buffer, free = ring + 2 * buffer;  // where in shared memory
  tile::template load<Rows, tiles::threads>(memory, matrix_of<T>(s, s.q, matrix), s.q.row, s.q.column, s.q.wide, q0,
                                            int(s.queries), s.width);
  if (stop > 0) load_keys(keys, 0);
  commit_copies();
  if (stop > 0) load_values(values, 0);
  commit_copies();

  const float scale = float(s.scale) * log2_e;
  // The largest score begins with a finite one, as differences of infinite ones are none.
  float mixed[M][V][4] = {}, most[M][2], sum[M][2];
#pragma unroll
  for (int i = 0; i < M; ++i) most[i][0] = most[i][1] = lowest_float, sum[i][0] = sum[i][1] = 0;
#pragma unroll 1
  for (int k0 = 0; k0 < stop; k0 += Steps) {
    const bool more = k0 + Steps < stop;
    wait_for_copies<1>();
    __syncthreads();  // all have these keys, and nobody needs the values before any longer
    if (more) load_keys(free, k0 + Steps);
    commit_copies();
    uint32 kept[M][(N + 7) / 8];
    if (Extras && s.drops) draw_rows<M, N>(kept, s, s.first + *moved, int64(matrix) * s.queries + q0 + warp_row(), k0);
    float score[M][N][4] = {};
    tile::times_transposed(score, memory, warp_row() * tile::row_bytes + tile::lane_place(),
                           keys + tile::transposed_lane_place());

    float factor = scale;
    if constexpr (Extras) {
      const attention_view<T, float> view(s, matrix, q0, k0);
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            score[i][j][e] = view.seen(score[i][j][e] * scale, warp_row() + mma_row(i, e), mma_column(j, e));
      factor = 1;
    } else if (k0 + Steps > all_keys || (s.causal && k0 + Steps > q0 + warp_row() + 1)) {
      hide_unseen(score, q0 + warp_row() - k0, all_keys - k0, s.causal);
    }
    float now[M][2];
    bool grows = false;
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float x = -infinity<float>();
#pragma unroll
        for (int j = 0; j < N; ++j) x = fmaxf(x, fmaxf(score[i][j][2 * half], score[i][j][2 * half + 1]));
        now[i][half] = fmaxf(most[i][half], fold_quad(x, [](float a, float b) { return fmaxf(a, b); }) * factor);
        grows |= now[i][half] > most[i][half] + most_growth;
      }
    if (__any_sync(0xffffffffu, grows)) {
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float shrunk = fast_exp2(most[i][half] - now[i][half]);
          most[i][half] = now[i][half];
          sum[i][half] *= shrunk;
#pragma unroll
          for (int j = 0; j < V; ++j) mixed[i][j][2 * half] *= shrunk, mixed[i][j][2 * half + 1] *= shrunk;
        }
    }
    uint32 weights[N / 2][M][4];  // a left operand
#pragma unroll
    for (int k = 0; k < N / 2; ++k)
#pragma unroll
      for (int i = 0; i < M; ++i) {
        float(&a)[4] = score[i][2 * k], (&b)[4] = score[i][2 * k + 1];
#pragma unroll
        for (int e = 0; e < 4; ++e)
          a[e] = fast_exp2(a[e] * factor - most[i][e / 2]), b[e] = fast_exp2(b[e] * factor - most[i][e / 2]);
        sum[i][0] += (a[0] + a[1]) + (b[0] + b[1]);
        sum[i][1] += (a[2] + a[3]) + (b[2] + b[3]);
        if (Extras && s.drops) {
          const uint32 bits = kept[i][k / 4] >> 8 * (k % 4);
#pragma unroll
          for (int e = 0; e < 4; ++e) a[e] = bits >> e & 1 ? a[e] : 0, b[e] = bits >> (4 + e) & 1 ? b[e] : 0;
        }
        tile::round(weights[k][i], a, b);
      }

    wait_for_copies<1>();
    __syncthreads();  // all have these values, and nobody needs the keys any longer
    if (more) load_values(keys, k0 + Steps);
    commit_copies();
    tile::times(mixed, weights, memory, values + tile::lane_place());
    const int used = values;
    values = keys, keys = free, free = used;
  }
  wait_for_copies<0>();

#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float whole = fold_quad(sum[i][half], [](float a, float b) { return a + b; }),
                  share = whole == 0 ? 0 : float(s.kept) / whole;
      const int row = q0 + warp_row() + mma_row(i, 2 * half);
      if (row < int(s.queries) && threadIdx.x % 4 == 0)
        logsumexp[int64(matrix) * s.queries + row] = (most[i][half] + log2(whole)) * log_2;
#pragma unroll
      for (int j = 0; j < V; ++j) mixed[i][j][2 * half] *= share, mixed[i][j][2 * half + 1] *= share;
    }
  store_rows(out + int64(matrix) * s.queries * s.value_width, mixed, q0 + warp_row(), int(s.queries), s.value_width,
             1, false);
}

}  // namespace kiln::kernels
