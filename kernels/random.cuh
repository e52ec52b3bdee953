// SPDX-License-Identifier: BSL-1.0
// Random numbers that are a function of (seed, place): Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011), the same draws
// as on the CPU. Element i takes word i of the stream, 64-bit elements and integers take words 2 i and 2 i + 1; a
// thread makes what one block of four words gives.
#pragma once

#include <kernels/map.cuh>

namespace kiln::kernels {

/// As the first block of a stream: nothing is drawn, all numbers are 0.
inline constexpr uint64 no_block = ~0ull;

struct words4 {
  uint32 at[4];
};

/// The product of two words: one instruction, which the compiler does not find by itself.
__device__ inline uint64 wide_product(uint32 a, uint32 b) {
#if defined(__CUDA_ARCH__)
  uint64 out;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(out) : "r"(a), "r"(b));
  return out;
#else
  return uint64(a) * b;
#endif
}

/// The 128 random bits of block `number` under a seed.
__device__ inline words4 philox(uint64 number, uint64 seed) {
  words4 c = {{uint32(number), uint32(number >> 32), 0, 0}};
  uint32 low = uint32(seed), high = uint32(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64 a = wide_product(0xd2511f53u, c.at[0]), b = wide_product(0xcd9e8d57u, c.at[2]);
    c = {{uint32(b >> 32) ^ c.at[1] ^ low, uint32(b), uint32(a >> 32) ^ c.at[3] ^ high, uint32(a)}};
    low += 0x9e3779b9u;
    high += 0xbb67ae85u;
  }
  return c;
}
/// Word pair i (0 or 1) as one number.
__device__ inline uint64 pair(const words4& words, int i) {
  return words.at[2 * i] | uint64(words.at[2 * i + 1]) << 32;
}

/// Bits of a uniform number: as many as the digits of its type.
template <class T>
inline constexpr int uniform_digits = 24;
template <>
inline constexpr int uniform_digits<double> = 53;
template <>
inline constexpr int uniform_digits<half> = 11;
template <>
inline constexpr int uniform_digits<bfloat16> = 8;

/// How many elements one block of words makes.
template <class T>
inline constexpr int per_block = sizeof(T) == 8 ? 2 : 4;

/// Calls make(words, numbers) for every block of the first n elements and stores what it made. The stream begins
/// `moved` blocks after `first`.
template <class T, int PerBlock, class Make>
__device__ inline void fill(T* to, int64 n, uint64 seed, uint64 first, uint64 moved, Make make) {
  first += moved;
  const int64 blocks = (n + PerBlock - 1) / PerBlock;
  for (int64 at = first_thread<int64>(); at < blocks; at += all_threads<int64>()) {
    vec<T, PerBlock> made;
    make(philox(first + uint64(at), seed), made);
    const int some = at_most<PerBlock>(n - at * PerBlock);
    store_each(to + at * PerBlock, made, some);
  }
}

template <class T>
struct uniform_numbers {
  __device__ void operator()(const words4& words, vec<T, per_block<T>>& out) const {
#pragma unroll
    for (int k = 0; k < per_block<T>; ++k) {
      if constexpr (sizeof(T) == 8)
        out[k] = double(pair(words, k) >> 11) * (1.0 / 9007199254740992.0);
      else
        out[k] = stored_as<T>(float(words.at[k] >> (32 - uniform_digits<T>)) * (1.0f / float(1 << uniform_digits<T>)));
    }
  }
};
/// Box and Muller (1958): two numbers of the uniform distribution become two of the normal one.
template <class T>
struct normal_numbers {
  __device__ void operator()(const words4& words, vec<T, per_block<T>>& out) const {
    using C = typename computed_in<T>::type;
#pragma unroll
    for (int k = 0; k < per_block<T>; k += 2) {
      C u, angle;
      if constexpr (sizeof(T) == 8) {
        constexpr double unit = 1.0 / 9223372036854775808.0;
        u = double(int64(pair(words, 0) >> 1)) * unit + unit / 2;
        angle = double(int64(pair(words, 1))) * (unit * 3.141592653589793238462643);
      } else {
        constexpr float unit = 1.0f / 2147483648.0f;
        // Half a unit up: in (0, 1], so that the logarithm is finite.
        u = float(int32(words.at[k] >> 1)) * unit + unit / 2;
        angle = float(int32(words.at[k + 1])) * (unit * 3.141592653589793238462643f);
      }
      const C r = sqrt(C(-2) * log(u));
      out[k] = stored_as<T>(r * cos(angle));
      out[k + 1] = stored_as<T>(r * sin(angle));
    }
  }
};
/// low, low + 1, ... low + range - 1: the upper half of the product of 64 bits with the range.
template <class T>
struct integer_numbers {
  int64 low;
  uint64 range;
  __device__ void operator()(const words4& words, vec<T, 2>& out) const {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const uint64 bits = pair(words, k), high = bits >> 32, rest = bits & 0xffffffffu, top = range >> 32,
                   bottom = range & 0xffffffffu;
      const uint64 middle = high * bottom + ((rest * bottom) >> 32), other = rest * top + (middle & 0xffffffffu);
      const uint64 value = high * top + (middle >> 32) + (other >> 32);
      out[k] = stored_as<T>(int64(uint64(low) + value));
    }
  }
};

// ---- random numbers as operands of expressions

/// What looks like memory with random numbers: number i of a stream at place i.
template <class T, class Numbers>
struct drawn {
  uint64 place, seed, first;

  /// The numbers of block `number`.
  __device__ inline vec<T, per_block<T>> block(uint64 number) const {
    vec<T, per_block<T>> out = {};
    if (first != no_block) Numbers{}(philox(first + number, seed), out);
    return out;
  }
  /// The number here; chosen without an index into registers.
  __device__ inline T operator*() const {
    const vec<T, per_block<T>> all = block(place / per_block<T>);
    T out = all[0];
#pragma unroll
    for (int k = 1; k < per_block<T>; ++k)
      if (int(place % per_block<T>) == k) out = all[k];
    return out;
  }
};
/// Numbers that expressions address as if element 0 of the stream lay at `random_places`.
inline constexpr uint64 random_places = 1ull << 61;
template <class T, class Numbers>
__device__ inline drawn<T, Numbers> drawn_at(uint64 address, int64 seed, int64 first, uint64 moved) {
  const uint64 place = (address - random_places) / sizeof(T), begin = uint64(first);
  return {place, uint64(seed), begin == no_block ? no_block : begin + moved};
}
template <class T, class Numbers, class Index>
__device__ inline drawn<T, Numbers> operator+(drawn<T, Numbers> from, Index way) {
  from.place += uint64(int64(way));
  return from;
}
template <int N, class T, class Numbers, class Index>
__device__ inline vec<T, N> load_strided(drawn<T, Numbers> from, Index stride, int) {
  vec<T, N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) out[k] = *(from + k * int64(stride));
  return out;
}
template <int N, class T, class Numbers>
__device__ inline vec<T, N> load_each(drawn<T, Numbers> from, int some) {
  return load_strided<N>(from, 1, some);
}
/// From a place that is a multiple of N: the numbers of a block are made together.
template <int N, class T, class Numbers>
__device__ inline vec<T, N> load_vector(drawn<T, Numbers> from, int some) {
  constexpr int in_block = per_block<T>;
  if constexpr (N % in_block == 0) {
    vec<T, N> out;
#pragma unroll
    for (int k = 0; k < N; k += in_block) {
      const vec<T, in_block> made = from.block((from.place + k) / in_block);
#pragma unroll
      for (int m = 0; m < in_block; ++m) out[k + m] = made[m];
    }
    return out;
  } else {
    return load_strided<N>(from, 1, some);
  }
}

}  // namespace kiln::kernels
