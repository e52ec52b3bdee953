// SPDX-License-Identifier: BSL-1.0
// Products of tiles of float or double in shared memory, by multiplications and additions, into sums in the registers
// of a block. The threads that share a row are beside each other in a warp.
#pragma once

#include <kernels/types.cuh>

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

/// Joins what the threads of a row have; each gets the result.
template <class Grid, class C, class Fold>
__device__ inline C fold_row(C x, Fold fold) {
#pragma unroll
  for (int way = Grid::sharing / 2; way > 0; way /= 2) x = fold(x, __shfl_xor_sync(0xffffffffu, x, way));
  return x;
}

}  // namespace kiln::kernels
