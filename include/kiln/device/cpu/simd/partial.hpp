// SPDX-License-Identifier: BSL-1.0
// Loads and stores of fewer than N elements, for the end of a row: they touch only the elements they are told of. With
// AVX-512 one masked move, with AVX a masked load of words; elsewhere through a buffer, as a later full load of it
// costs less than a branch per element.
#pragma once

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/hardware.hpp>
#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Copies `count` (0 to N - 1) elements by blocks of halving size, so that each copy is one move of known length.
template <int N, class S>
[[gnu::always_inline]] inline void copy_fewer(S* to, const S* from, int count) {
  if constexpr (N > 1) {
    constexpr int part = N / 2;
    if ((count & part) != 0) {
      std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), part * sizeof(S));
      to += part;
      from += part;
    }
    copy_fewer<part>(to, from, count);
  }
}
/// Copies `count` (0 to N) elements.
template <int N, class S>
[[gnu::always_inline]] inline void copy_some(S* to, const S* from, int count) {
  if (count == N)
    std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), N * sizeof(S));
  else
    copy_fewer<N>(to, from, count);
}

namespace hardware {
template <int Bytes>
struct register_of {};  // no masked moves
void load_bytes(lacking, std::uint64_t, const void*);
void store_words(void*, std::uint64_t, lacking);
/// The lowest `count` (0 to 64) bits.
constexpr std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
template <>
struct register_of<16> {
  using type = intrinsic::m128i;
};
template <>
struct register_of<32> {
  using type = intrinsic::m256i;
};
template <>
struct register_of<64> {
  using type = intrinsic::m512i;
};
inline intrinsic::m128i load_bytes(intrinsic::m128i other, std::uint64_t mask, const void* p) {
  return intrinsic::mm_mask_loadu_epi8(other, mask, p);
}
inline intrinsic::m256i load_bytes(intrinsic::m256i other, std::uint64_t mask, const void* p) {
  return intrinsic::mm256_mask_loadu_epi8(other, mask, p);
}
inline intrinsic::m512i load_bytes(intrinsic::m512i other, std::uint64_t mask, const void* p) {
  return intrinsic::mm512_mask_loadu_epi8(other, mask, p);
}
inline void store_words(void* p, std::uint64_t mask, intrinsic::m128i a) {
  intrinsic::mm_mask_storeu_epi32(p, mask, a);
}
inline void store_words(void* p, std::uint64_t mask, intrinsic::m256i a) {
  intrinsic::mm256_mask_storeu_epi32(p, mask, a);
}
inline void store_words(void* p, std::uint64_t mask, intrinsic::m512i a) {
  intrinsic::mm512_mask_storeu_epi32(p, mask, a);
}
#endif
/// Whether registers of so many bytes have masked moves.
template <int Bytes>
concept Masked = requires {
  typename register_of<Bytes>::type;
};
void load_words(const void*, lacking);
#if defined(__AVX__)
inline intrinsic::m128 load_words(const void* p, native_t<long long, 2> mask) {
  return intrinsic::mm_maskload_ps(p, std::bit_cast<intrinsic::m128i>(mask));
}
inline intrinsic::m256 load_words(const void* p, native_t<long long, 4> mask) {
  return intrinsic::mm256_maskload_ps(p, std::bit_cast<intrinsic::m256i>(mask));
}
inline constexpr bool has_word_masks = true;
#else
inline constexpr bool has_word_masks = false;
#endif
/// Whether registers of so many bytes have masked loads of elements of so many.
template <int Bytes, int Size>
concept MaskedLoad = Masked<Bytes> ||(has_word_masks && (Bytes == 16 || Bytes == 32) && Size >= 4);
}  // namespace hardware

/// The first `count` stored elements at `p`, and `other` in the rest.
template <class Stored, int N>
[[gnu::always_inline]] inline native_t<Stored, N> native_load_partial(const void* p, int count, Stored other) {
  constexpr int bytes = N * static_cast<int>(sizeof(Stored));
  if constexpr (hardware::Masked<bytes>) {
    using whole = typename hardware::register_of<bytes>::type;
    const native_t<Stored, N> others = other - native_t<Stored, N>{};  // minus, so that -0.0 stays itself
    const auto mask = hardware::low_bits(count * static_cast<int>(sizeof(Stored)));
    return std::bit_cast<native_t<Stored, N>>(hardware::load_bytes(std::bit_cast<whole>(others), mask, p));
  } else if constexpr (hardware::MaskedLoad<bytes, sizeof(Stored)>) {
    using words = native_t<long long, bytes / 8>;
    static constexpr auto masks = [] {
      std::array<signed char, std::size_t{2 * bytes}> out{};
      for (std::size_t i = 0; i < bytes; ++i) out[i] = -1;
      return out;
    }();
    const auto mask =
        native_load<long long, bytes / 8>(masks.data() + bytes - count * static_cast<int>(sizeof(Stored)));
    const auto others = std::bit_cast<words>(other - native_t<Stored, N>{});
    const auto found = hardware::load_words(p, mask);
    return std::bit_cast<native_t<Stored, N>>(std::bit_cast<words>(found) | (others & ~mask));
  } else {
    alignas(64) std::array<Stored, static_cast<std::size_t>(N)> all;
    all.fill(other);
    copy_some<N>(all.data(), static_cast<const Stored*>(p), count);
    return native_load<Stored, N>(all.data());
  }
}

/// The first `count` (0 to N) elements at `p`, and `other` in the remaining lanes.
template <int N, class S>
[[gnu::always_inline]] inline lanes<opmath_t<S>, N> load_partial_or(const S* p, int count, stored_type<S> other) {
  using T = opmath_t<S>;
  if constexpr (!fits<T, N>) {
    const int low = count < N / 2 ? count : N / 2;
    return lanes<T, N>(load_partial_or<N / 2>(p, low, other), load_partial_or<N / 2>(p + low, count - low, other));
  } else {
    return decoded<S, N>(native_load_partial<stored_type<S>, N>(p, count, other));
  }
}

/// `count` (0 to N) elements from `p`. The lanes beyond repeat the first element, so that a computation on them meets
/// nothing (a division by zero, say) that it does not meet in a true lane; with count 0 they are zero.
template <int N, class S>
[[gnu::always_inline]] inline lanes<opmath_t<S>, N> load_partial(const S* p, int count) {
  stored_type<S> first{};
  if (count > 0) std::memcpy(&first, static_cast<const void*>(p), sizeof(S));
  return load_partial_or<N>(p, count, first);
}

/// Writes the first `count` (0 to N) lanes to `p`.
template <class S, int N>
[[gnu::always_inline]] inline void store_partial(S* p, lanes<opmath_t<S>, N> a, int count) {
  if constexpr (!fits<opmath_t<S>, N>) {
    const int low = count < N / 2 ? count : N / 2;
    store_partial(p, a.low, low);
    store_partial(p + low, a.high, count - low);
  } else {
    using stored = stored_type<S>;
    const auto from = encoded<S, N>(a);
    if constexpr (hardware::Masked<sizeof(from)> && sizeof(S) >= 4) {
      using whole = typename hardware::register_of<sizeof(from)>::type;
      hardware::store_words(p, hardware::low_bits(count * static_cast<int>(sizeof(S) / 4)), std::bit_cast<whole>(from));
    } else {
      alignas(64) std::array<stored, static_cast<std::size_t>(N)> all;
      std::memcpy(all.data(), &from, sizeof(from));
      // Bytes, as the elements of S are not of the type that was stored.
      copy_some<N* static_cast<int>(sizeof(S))>(reinterpret_cast<unsigned char*>(p),
                                                reinterpret_cast<const unsigned char*>(all.data()),
                                                count * static_cast<int>(sizeof(S)));
    }
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
