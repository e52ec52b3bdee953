// SPDX-License-Identifier: BSL-1.0
// Products of tiles that lie in shared memory, into sums that lie in the registers of a block: by plain multiplications
// and additions, or by tensor cores. Both say which rows and columns of a result a thread has, so that what is done to
// it in between is written once. The threads that share a row stand beside each other in a warp.
#pragma once

#include <kernels/mma.cuh>

namespace kiln::kernels {

/// Elements that are moved at once, and that rows of a tile are longer than they need be, so that the rows which a warp
/// reads together begin in other banks.
template <class T>
inline constexpr int tile_step = int(16 / sizeof(T));

/// float and double: 16 x 8 threads.
template <class T>
struct fma_grid {
  using element = T;
  using sum = T;
  static constexpr int threads = 128, sharing = 8;  ///< of a block; threads with parts of the same rows
  static constexpr bool row_in_warp = true;         ///< whether all of a row is within one warp
  template <int Rows>
  static constexpr int rows = Rows / 16;  ///< that a thread has, of so many
  template <int Columns>
  static constexpr int columns = Columns / 8;

  static __device__ inline int row(int i) { return int(threadIdx.x) / 8 + 16 * i; }
  template <int N>
  static __device__ inline int column(int j) {
    return int(threadIdx.x) % 8 + 8 * j;
  }

  /// Adds a b^T, of which each row has `depth` elements: a multiple of 16.
  template <int R, int N>
  static __device__ inline void times_transposed(T (&out)[R][N], const T* a, int a_row, const T* b, int b_row,
                                                 int depth) {
    constexpr int step = tile_step<T>;
    const T *const a0 = a + row(0) * a_row, *const b0 = b + column<N>(0) * b_row;
    for (int k = 0; k < depth; k += step) {
      vec<T, step> left[R];
#pragma unroll
      for (int i = 0; i < R; ++i) left[i] = *reinterpret_cast<const vec<T, step>*>(a0 + 16 * i * a_row + k);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const vec<T, step> right = *reinterpret_cast<const vec<T, step>*>(b0 + 8 * j * b_row + k);
#pragma unroll
        for (int i = 0; i < R; ++i)
#pragma unroll
          for (int m = 0; m < step; ++m) out[i][j] += left[i][m] * right[m];
      }
    }
  }
  /// Adds a b, of `depth` columns and rows.
  template <int R, int N>
  static __device__ inline void times(T (&out)[R][N], const T* a, int a_row, const T* b, int b_row, int depth) {
    constexpr int step = tile_step<T>;
    const T *const a0 = a + row(0) * a_row, *const b0 = b + column<N>(0);
    for (int k = 0; k < depth; k += step) {
      vec<T, step> left[R];
#pragma unroll
      for (int i = 0; i < R; ++i) left[i] = *reinterpret_cast<const vec<T, step>*>(a0 + 16 * i * a_row + k);
#pragma unroll
      for (int m = 0; m < step; ++m)
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const T right = b0[(k + m) * b_row + 8 * j];
#pragma unroll
          for (int i = 0; i < R; ++i) out[i][j] += left[i][m] * right;
        }
    }
  }
};

/// half and bfloat16: 64 rows, 16 for each of four warps, and so many warps beside each other.
template <class T, int Across>
struct mma_grid {
  using element = T;
  using sum = float;
  static constexpr int threads = 128 * Across, sharing = 4;
  static constexpr bool row_in_warp = Across == 1;
  template <int Rows>
  static constexpr int rows = Rows / 32;
  template <int Columns>
  static constexpr int columns = Columns / Across / 4;

  static __device__ inline int lane() { return int(threadIdx.x) % 32; }
  static __device__ inline int first_row() { return int(threadIdx.x) / 32 % 4 * 16; }
  template <int N>
  static __device__ inline int first_column() {
    return int(threadIdx.x) / 128 * (4 * N);
  }
  static __device__ inline int row(int i) { return first_row() + lane() / 4 + 8 * i; }
  template <int N>
  static __device__ inline int column(int j) {
    return first_column<N>() + 8 * (j / 2) + 2 * (lane() % 4) + j % 2;
  }

  template <int N>
  static __device__ inline void times_transposed(float (&out)[2][N], const T* a, int a_row, const T* b, int b_row,
                                                 int depth) {
    const T *const a0 = a + (first_row() + lane() % 16) * a_row + lane() / 16 * 8,
                   *const b0 = b + (first_column<N>() + lane() / 16 * 8 + lane() % 8) * b_row + lane() / 8 % 2 * 8;
    for (int k = 0; k < depth; k += 16) {
      uint32 left[4], right[4];
      load_matrices(left, a0 + k);
#pragma unroll
      for (int j = 0; j < N; j += 4) {  // 16 columns
        load_matrices(right, b0 + 4 * j * b_row + k);
        add(out, j, left, right);
      }
    }
  }
  template <int N>
  static __device__ inline void times(float (&out)[2][N], const T* a, int a_row, const T* b, int b_row, int depth) {
    const T* const a0 = a + (first_row() + lane() % 16) * a_row + lane() / 16 * 8;
    const T* const b0 = b + lane() % 16 * b_row + first_column<N>() + lane() / 16 * 8;
    for (int k = 0; k < depth; k += 16) {
      uint32 left[4], right[4];
      load_matrices(left, a0 + k);
#pragma unroll
      for (int j = 0; j < N; j += 4) {
        load_transposed_matrices(right, b0 + k * b_row + 4 * j);
        add(out, j, left, right);
      }
    }
  }

 private:
  template <int N>
  static __device__ inline void add(float (&out)[2][N], int j, const uint32 (&left)[4], const uint32 (&right)[4]) {
    static_assert(N % 4 == 0, "a warp has a multiple of 16 columns");
    multiply_matrices<T>(out[0][j], out[0][j + 1], out[1][j], out[1][j + 1], left, right[0], right[1]);
    multiply_matrices<T>(out[0][j + 2], out[0][j + 3], out[1][j + 2], out[1][j + 3], left, right[2], right[3]);
  }
};

/// Joins what the threads of a row have; each gets the result.
template <class Grid, class C, class Fold>
__device__ inline C fold_row(C x, Fold fold) {
#pragma unroll
  for (int way = Grid::sharing / 2; way > 0; way /= 2) x = fold(x, __shfl_xor_sync(0xffffffffu, x, way));
  return x;
}

}  // namespace kiln::kernels
