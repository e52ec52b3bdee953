// SPDX-License-Identifier: BSL-1.0
// Fills memory with random numbers on all threads. Which number an element gets depends on its place and the stream
// alone: element i takes word i of the stream (32 bits), doubles and integers take words 2 i and 2 i + 1.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <kiln/core/dtype.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// Each lane's low 32 bits times a factor; whatever stands in the upper bits does not matter.
template <int N>
[[gnu::always_inline]] inline lanes<std::uint64_t, N> times_low(lanes<std::uint64_t, N> a, std::uint32_t factor) {
  using V = lanes<std::uint64_t, N>;
  const V m(std::uint64_t{factor});
#if defined(__AVX512F__)
  if constexpr (N == 8)
    return V(std::bit_cast<typename V::native>(
        intrinsic::mm512_mul_epu32(std::bit_cast<intrinsic::m512i>(a.v), std::bit_cast<intrinsic::m512i>(m.v))));
#endif
#if defined(__AVX2__)
  if constexpr (N == 4)
    return V(std::bit_cast<typename V::native>(
        intrinsic::mm256_mul_epu32(std::bit_cast<intrinsic::m256i>(a.v), std::bit_cast<intrinsic::m256i>(m.v))));
#endif
#if defined(__SSE2__)
  if constexpr (N == 2)
    return V(std::bit_cast<typename V::native>(
        intrinsic::mm_mul_epu32(std::bit_cast<intrinsic::m128i>(a.v), std::bit_cast<intrinsic::m128i>(m.v))));
#endif
  return (a & V(std::uint64_t{0xffffffffu})) * m;
}

/// Lanes of `a` and `b` in turns: the first (Half 0) or last (Half 1) N of them.
template <int Half, class Native, int... I>
[[gnu::always_inline]] inline Native interleaved(Native a, Native b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(a, b, (I % 2 * n + I / 2 + Half * (n / 2))...);
}
/// Every second lane of the concatenation of a and b, from First on.
template <int First, class Native, int... I>
[[gnu::always_inline]] inline Native every_second(Native a, Native b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (First + 2 * I)...);
}

/// Words per piece of work; a piece stays in first-level cache until it has become numbers.
inline constexpr std::int64_t random_words = 1024;
using random_buffer = std::array<std::uint32_t, static_cast<std::size_t>(random_words)>;

/// `wanted` words of the stream from block `block` on, or some more.
template <int N = vector_bytes / 8>
void draw(random_buffer& words, const random_stream& stream, std::uint64_t block, std::int64_t wanted = random_words) {
  using V = lanes<std::uint64_t, N>;
  const V low(std::uint64_t{0xffffffffu});
  V step{std::uint64_t{0}};
  for (int i = 0; i < N; ++i) step.v[i] = static_cast<std::uint64_t>(i);
  for (std::int64_t at = 0; at < wanted; at += 4 * N) {
    // Each lane holds one of the four words of a counter in its low half; the upper halves are never looked at.
    V c0 = V(stream.first + block + static_cast<std::uint64_t>(at / 4)) + step, c1 = shift_right<32>(c0),
      c2(std::uint64_t{0}), c3(std::uint64_t{0});
    philox_key key = stream.key();
    for (int round = 0; round < 10; ++round) {
      const V a = times_low(c0, kiln::detail::philox_multipliers[0]),
              b = times_low(c2, kiln::detail::philox_multipliers[1]);
      c0 = shift_right<32>(b) ^ c1 ^ V(std::uint64_t{key[0]});
      c2 = shift_right<32>(a) ^ c3 ^ V(std::uint64_t{key[1]});
      c1 = b;
      c3 = a;
      key[0] += kiln::detail::philox_weyl[0];
      key[1] += kiln::detail::philox_weyl[1];
    }
    const V first = (c0 & low) | shift_left<32>(c1), second = (c2 & low) | shift_left<32>(c3);
    constexpr auto all = std::make_integer_sequence<int, N>{};
    const auto begin = interleaved<0>(first.v, second.v, all), end = interleaved<1>(first.v, second.v, all);
    std::memcpy(words.data() + at, &begin, sizeof(begin));
    std::memcpy(words.data() + at + 2 * N, &end, sizeof(end));
  }
}

/// Runs make(words, n, i) for pieces that cover elements 0 to n, each of `per_element` words.
template <class Make>
void in_pieces(const random_stream& stream, std::int64_t n, int per_element, Make make) {
  const std::int64_t piece = random_words / per_element;
  parallel_for(n, 16 * piece, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) random_buffer words;
    for (std::int64_t i = begin; i < end; i += piece) {
      draw(words, stream, static_cast<std::uint64_t>(i / piece * (random_words / 4)));
      make(words.data(), i, std::min(piece, end - i));
    }
  });
}

/// Writes as many of the lanes as fit before `n`.
template <class T, class V>
[[gnu::always_inline]] inline void store_up_to(T* to, V values, std::int64_t n) {
  if (n >= V::size)
    store(to, values);
  else
    store_partial(to, values, static_cast<int>(std::max<std::int64_t>(n, 0)));
}

template <class T>
inline constexpr int uniform_bits = sizeof(T) == 8 ? 53 : std::numeric_limits<T>::digits;

/// `count` uniform numbers from the words of a stream.
template <class T>
void make_uniform(T* to, const std::uint32_t* words, std::int64_t count) {
  using C = kiln::compute_t<T>;
  using bits = std::conditional_t<sizeof(C) == 8, std::uint64_t, std::uint32_t>;
  using integer = std::make_signed_t<bits>;
  constexpr int N = vector_bytes / static_cast<int>(sizeof(C)), digits = uniform_bits<T>;
  constexpr C unit = C(1) / static_cast<C>(integer{1} << digits);
  for (std::int64_t i = 0; i < count; i += N) {
    lanes<bits, N> drawn;
    std::memcpy(&drawn.v, words + i * words_of<T>, sizeof(drawn.v));
    const auto top = shift_right<static_cast<int>(8 * sizeof(bits)) - digits>(drawn);
    store_up_to(to + i, convert<C>(bits_as<integer>(top)) * lanes<C, N>(unit), count - i);
  }
}
/// `count` numbers of the standard normal distribution from words of a stream that begin with a pair.
template <class T>
void make_normal(T* to, const std::uint32_t* words, std::int64_t count) {
  using C = kiln::compute_t<T>;
  using bits = std::conditional_t<sizeof(C) == 8, std::uint64_t, std::uint32_t>;
  using integer = std::make_signed_t<bits>;
  constexpr int N = vector_bytes / static_cast<int>(sizeof(C)), width = 8 * static_cast<int>(sizeof(bits));
  constexpr C unit = C(1) / static_cast<C>(bits{1} << (width - 1));
  constexpr auto all = std::make_integer_sequence<int, N>{};
  using V = lanes<C, N>;
  for (std::int64_t i = 0; i < count; i += 2 * N) {
    lanes<bits, N> x, y;
    std::memcpy(&x.v, words + i * words_of<T>, sizeof(x.v));
    std::memcpy(&y.v, words + (i + N) * words_of<T>, sizeof(y.v));
    const lanes<bits, N> even(every_second<0>(x.v, y.v, all)), odd(every_second<1>(x.v, y.v, all));
    // Half a unit up: in (0, 1], so that the logarithm is finite.
    const V u = fma(convert<C>(bits_as<integer>(shift_right<1>(even))), V(unit), V(unit / 2));
    const V angle = convert<C>(bits_as<integer>(odd)) * V(unit * C(3.141592653589793238462643));
    const V r = sqrt(V(C(-2)) * log(u));
    const V a = r * cos(angle), b = r * sin(angle);
    store_up_to(to + i, V(interleaved<0>(a.v, b.v, all)), count - i);
    store_up_to(to + i + N, V(interleaved<1>(a.v, b.v, all)), count - i - N);
  }
}

}  // namespace detail

/// Uniform numbers in [0, 1): multiples of 2^-24 (float), 2^-53 (double), 2^-11 (half), 2^-8 (bfloat16).
template <class T>
void fill_uniform(T* to, std::int64_t n, const random_stream& stream) {
  detail::in_pieces(stream, n, words_of<T>, [to](const std::uint32_t* words, std::int64_t at, std::int64_t count) {
    detail::make_uniform(to + at, words, count);
  });
}

/// Numbers of the standard normal distribution, by Box and Muller (1958): words 2 j and 2 j + 1 (of doubles: four)
/// become the two numbers r cos(a) and r sin(a).
template <class T>
void fill_normal(T* to, std::int64_t n, const random_stream& stream) {
  detail::in_pieces(stream, n, words_of<T>, [to](const std::uint32_t* words, std::int64_t at, std::int64_t count) {
    detail::make_normal(to + at, words, count);
  });
}

/// Integers low, low + 1, ... low + range - 1, each as likely as the others.
template <class T>
void fill_integers(T* to, std::int64_t n, const random_stream& stream, std::int64_t low, std::uint64_t range) {
  detail::in_pieces(stream, n, 2, [=](const std::uint32_t* words, std::int64_t at, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t value = scaled_to(words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32, range);
      to[at + i] = static_cast<T>(
          static_cast<kiln::compute_t<T>>(static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value)));
    }
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
