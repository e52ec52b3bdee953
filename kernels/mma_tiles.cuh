// SPDX-License-Identifier: BSL-1.0
// Tiles of half or bfloat16 in shared memory, and products of them by tensor cores. A warp holds 16 M rows of a result
// in registers as accumulators sum[M][N][4]: of each 16 x 8 block, elements 0 and 1 are in row lane / 4, columns
// 2 (lane % 4) and the next, elements 2 and 3 eight rows below. These are also the places of a left operand's elements,
// so accumulators become the left operand of the next product without leaving their registers.
#pragma once

#include <kernels/copy_async.cuh>
#include <kernels/mma.cuh>

namespace kiln::kernels {

/// The row of element e of block i of a warp's accumulators, within the warp's rows, and the column of block j.
__device__ inline int mma_row(int i, int e, int thread = int(threadIdx.x)) {
  return 16 * i + thread % 32 / 4 + e / 2 * 8;
}
__device__ inline int mma_column(int j, int e, int thread = int(threadIdx.x)) {
  return 8 * j + 2 * (thread % 4) + e % 2;
}

/// Hides from the compiler that a value is the same in each step of a loop, where it would keep all that follows from
/// it in registers.
template <class I>
__device__ inline I opaque(I x) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(I) == 8)
    asm volatile("" : "+l"(x));
  else
    asm volatile("" : "+r"(x));
#endif
  return x;
}

/// Rows of W elements without padding. The 16 bytes at column 8 c of row r are stored at chunk c ^ swizzle(r), so that
/// the eight rows of a matrix that ldmatrix reads are in different banks. A tile is given by its place in shared
/// memory, a multiple of its rows' bytes; as an operand of a product, plus the lane's place.
template <class T, int W>
struct mma_tile {
  static constexpr int chunks = W / 8, row_bytes = 2 * W;

  static __device__ inline int place(int row, int chunk) {
    const int swizzle = W < 64 ? row >> 1 & 3 : row & 7;
    return row * row_bytes + (chunk ^ swizzle) * 16;
  }
  /// Where a lane's row of the first 16 x 16 elements begins; that of the next 16 columns differs by `^ 32`. The four
  /// 8 x 8 matrices come column by column, or row by row for the right operand of times_transposed, as the two that one
  /// instruction takes must be in neighbouring registers.
  static __device__ inline int lane_place() {
    const int lane = opaque(int(threadIdx.x)) % 32;
    return place(lane % 16, lane / 16);
  }
  static __device__ inline int transposed_lane_place() {
    const int lane = opaque(int(threadIdx.x)) % 32;
    return place(lane / 16 * 8 + lane % 8, lane / 8 % 2);
  }

  /// Starts to copy rows [first, first + Rows) of a matrix of `end` rows and `width` columns, with zeros for rows and
  /// columns beyond. `wide`: rows may be read 16 bytes at a time; otherwise elements are copied before it returns.
  template <int Rows, int Threads>
  static __device__ inline void load(char* to, const T* from, int64 row_stride, int64 column_stride, bool wide,
                                     int first, int end, int width) {
    const int left = end - first, thread = opaque(int(threadIdx.x));
    if (wide) {
      constexpr int rows_at_once = Threads / chunks;
      static_assert(Rows % rows_at_once == 0 && rows_at_once % 8 == 0, "each thread has one swizzle");
      const int row = thread / chunks, chunk = thread % chunks, last = 8 * chunk < width ? left : 0;
      const uint64 step = uint64(rows_at_once * row_stride) * sizeof(T);
      uint64 at = reinterpret_cast<uint64>(from + int64(first + row) * row_stride + 8 * chunk);
      to += place(row, chunk);
#pragma unroll
      for (int r = 0; r < Rows; r += rows_at_once) {
        copy_async16(to + r * row_bytes, reinterpret_cast<const void*>(at), row + r < last);
        at = opaque(at + step);
      }
    } else {
      from += int64(first) * row_stride;
#pragma unroll 1
      for (int at = thread; at < Rows * W; at += Threads) {
        const int row = at / W, column = at % W;
        T x = {};
        if (row < left && column < width) x = from[row * row_stride + column * column_stride];
        reinterpret_cast<T*>(to + place(row, column / 8))[column % 8] = x;
      }
    }
  }

  /// 16 M rows and 16 columns from 16 c on of a left operand.
  template <int M>
  static __device__ inline void load_left(uint32 (&left)[M][4], const char* memory, int a, int c) {
#pragma unroll
    for (int i = 0; i < M; ++i) load_matrices(left[i], memory + (a ^ 32 * c) + i * 16 * row_bytes);
  }

  /// sum += a b^T, of which both have rows of W elements; b has 8 N rows.
  template <int M, int N>
  static __device__ inline void times_transposed(float (&sum)[M][N][4], const char* memory, int a, int b) {
#pragma unroll
    for (int c = 0; c < W / 16; ++c) {
      uint32 left[M][4];
      load_left(left, memory, a, c);
      add_block(sum, left, memory + (b ^ 32 * c));
    }
  }
  /// The same with a's blocks in registers.
  template <int M, int N>
  static __device__ inline void times_transposed(float (&sum)[M][N][4], const uint32 (&a)[W / 16][M][4],
                                                 const char* memory, int b) {
#pragma unroll
    for (int c = 0; c < W / 16; ++c) add_block(sum, a[c], memory + (b ^ 32 * c));
  }
  /// sum += a b, where b has 16 K rows of W elements and a's blocks of 16 x 16 are in registers.
  template <int K, int M>
  static __device__ inline void times(float (&sum)[M][W / 8][4], const uint32 (&a)[K][M][4], const char* memory,
                                      int b) {
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int j = 0; j < W / 8; j += 2) {
        uint32 right[4];
        load_transposed_matrices(right, memory + (b ^ 16 * j) + 16 * k * row_bytes);
#pragma unroll
        for (int i = 0; i < M; ++i) {
          multiply(sum[i][j], a[k][i], right[0], right[1]);
          multiply(sum[i][j + 1], a[k][i], right[2], right[3]);
        }
      }
  }
  /// The left operand's block of two accumulators beside each other, rounded to T.
  static __device__ inline void round(uint32 (&left)[4], const float (&a)[4], const float (&b)[4]) {
    left[0] = packed<T>(a[0], a[1]), left[1] = packed<T>(a[2], a[3]);
    left[2] = packed<T>(b[0], b[1]), left[3] = packed<T>(b[2], b[3]);
  }

 private:
  static __device__ inline void multiply(float (&sum)[4], const uint32 (&left)[4], uint32 b0, uint32 b1) {
    multiply_matrices<T>(sum[0], sum[1], sum[2], sum[3], left, b0, b1);
  }
  template <int M, int N>
  static __device__ inline void add_block(float (&sum)[M][N][4], const uint32 (&left)[M][4], const char* b) {
    static_assert(N % 2 == 0, "ldmatrix brings 16 rows");
#pragma unroll
    for (int j = 0; j < N; j += 2) {
      uint32 right[4];
      load_matrices(right, b + 8 * j * row_bytes);
#pragma unroll
      for (int i = 0; i < M; ++i) {
        multiply(sum[i][j], left[i], right[0], right[1]);
        multiply(sum[i][j + 1], left[i], right[2], right[3]);
      }
    }
  }
};

}  // namespace kiln::kernels
