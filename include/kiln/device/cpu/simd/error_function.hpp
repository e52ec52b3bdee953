// SPDX-License-Identifier: BSL-1.0
// erf and erfc. erf is x times a polynomial of x^2 below 1, and 1 - e^S(x) above, S a polynomial near log erfc.
// erfc is e^(-x^2) P(t) / (1 + 2x), t = (x - K) / (x + K) (M. Shepherd and J. Laframboise, Math. Comp. 36, 1981).
// The coefficients are our own, by the Remez algorithm.
#pragma once

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/erf_table.hpp>
#include <kiln/device/cpu/simd/exp.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// erf(x) / x - 1 as a function of z = x^2 <= 1.
template <int N>
[[gnu::always_inline]] inline lanes<float, N> erf_near_zero(lanes<float, N> z) {
  return polynomial(z, 0x1.06ebap-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90ep-6f, 0x1.5405b2p-8f, -0x1.a3f7p-11f,
                    0x1.496a3p-14f);
}
template <int N>
[[gnu::always_inline]] inline lanes<double, N> erf_near_zero(lanes<double, N> z) {
  return polynomial(z, 0x1.06eba8214db68p-3, -0x1.812746b0379bdp-2, 0x1.ce2f21a040d16p-4, -0x1.b82ce311fa936p-6,
                    0x1.565bccf92b22cp-8, -0x1.c02db03dd563ap-11, 0x1.f9a2baa8d85d9p-14, -0x1.f4ca4d6d09df5p-17,
                    0x1.b97fd3c481bbcp-20, -0x1.5c0726720bd5cp-23, 0x1.d71b0bbe27715p-27, -0x1.abae3f2b28ff6p-31);
}
/// erfc(x) for 1 <= x <= 4 (float) or 6 (double), as exact as 1 - erfc(x) needs it: e^S(x), in float 2^S(x).
template <int N>
[[gnu::always_inline]] inline lanes<float, N> erfc_beyond_one(lanes<float, N> x) {
  using V = lanes<float, N>;
  const V s = polynomial(x - V(2.5f), -0x1.686954p+3f, -0x1.ee3a4p+2f, -0x1.5c9a66p+0f, -0x1.f9ddc4p-7f, 0x1.d4b8c2p-9f,
                         -0x1.b4fe76p-13f, 0x1.1c5bap-12f);
  const V n = nearest(s), r = s - n;
  const V p = polynomial(r, 0x1.62e432p-1f, 0x1.ebf9b2p-3f, 0x1.c6ae68p-5f, 0x1.3ced92p-7f, 0x1.5f76ap-10f);
  return fma(r, p, V(1.0f)) * power_of_two(n);
}
template <int N>
[[gnu::always_inline]] inline lanes<double, N> erfc_beyond_one(lanes<double, N> x) {
  using V = lanes<double, N>;
  const V s = polynomial(x - V(3.5), -0x1.c3991652a128dp+3, -0x1.d107c6913f4bdp+2, -0x1.eefa41a08d0d6p-1,
                         -0x1.567804eb9d73ap-8, 0x1.ca0f580f124b6p-11, -0x1.34ee6b12bb8f8p-13, 0x1.991f8115a6e52p-16,
                         -0x1.032cc2d7d2eefp-18, 0x1.52bfd4350dfc5p-21, -0x1.abfbf57a2655fp-25, 0x1.2a982a547d18dp-27,
                         -0x1.6ab6807135953p-26, -0x1.508a73dd33a0ep-26, -0x1.63bdbec3d307dp-27, -0x1.e28055cf5bea7p-29,
                         -0x1.9c05189d0c157p-31, -0x1.a11df2d68754fp-34, -0x1.6f9ffdb73a0cep-38);
  const auto [n, r] = reduce_by_ln2(s);
  return exp_of_reduced(r) * power_of_two(n);
}

/// The error function 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> erf(lanes<T, N> x) {
#if defined(__AVX512F__)
  if constexpr (std::same_as<T, float> && N == 16) return erf_by_table(x);
#endif
  using V = lanes<T, N>;
  const V one(T(1)), size = abs(x);
  const V near = fma(size, erf_near_zero(size * size), size);
  // Beyond the limit erf rounds to 1.
  const V far = one - erfc_beyond_one(lesser(V(sizeof(T) == 4 ? T(4) : T(6)), size));
  return copysign(where(size < one, near, far), x);
}

/// erfc's factor erfc(x) e^(x^2) (1 + 2x).
template <int N>
[[gnu::always_inline]] inline lanes<float, N> erfc_factor(lanes<float, N> x) {
  using V = lanes<float, N>;
  return polynomial((x - V(2.0f)) / (x + V(2.0f)), 0x1.46e80ep+0f, -0x1.7bf616p-4f, -0x1.540848p-3f, 0x1.4ffc4p-3f,
                    -0x1.bc0aa6p-5f, -0x1.081b24p-7f, 0x1.1ad7c4p-7f, 0x1.585506p-10f, -0x1.426ad4p-10f,
                    -0x1.a40898p-12f);
}
template <int N>
[[gnu::always_inline]] inline lanes<double, N> erfc_factor(lanes<double, N> x) {
  using V = lanes<double, N>;
  return polynomial((x - V(3.75)) / (x + V(3.75)), 0x1.3ccda0b5d5dc3p+0, -0x1.1f367683f898ap-3, 0x1.d5f294814e7e8p-9,
                    0x1.510169d094f4bp-4, -0x1.bda9309a15dbdp-4, 0x1.7a14188acebb9p-4, -0x1.e0d0fa70f4e24p-5,
                    0x1.d0b0037028034p-6, -0x1.3f603bbbee1aap-7, 0x1.cc3a161a86ecbp-10, 0x1.33facf2fedb0cp-12,
                    -0x1.3040548872bb8p-12, 0x1.b14d1d8a83537p-15, 0x1.77b3d68961014p-16, -0x1.8049d75cf2cb1p-17,
                    -0x1.0b3161d23aeebp-20, 0x1.d8425fad7cab0p-20, -0x1.bdc6a393fb1a6p-26, -0x1.145b494d7b73fp-22,
                    -0x1.1b3db78e5844ap-29, 0x1.04a4284e0ec21p-25, 0x1.718396c6005ffp-28);
}
/// x^2 = high + low.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline std::pair<lanes<T, N>, lanes<T, N>> exact_square(lanes<T, N> x) {
  if constexpr (has_fma) {
    const auto high = x * x;
    return {high, fma(x, x, -high)};
  } else {
    // The upper half of the digits has an exact square.
    using bits = typename float_format<T>::bits;
    constexpr bits upper = ~((bits{1} << (float_format<T>::fraction / 2 + 1)) - 1);
    const auto short_x = bits_as<T>(bits_as<bits>(x) & lanes<bits, N>(upper));
    return {short_x * short_x, (x - short_x) * (x + short_x)};
  }
}

/// 1 - erf(x), exact in relative terms for large x.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> erfc(lanes<T, N> x) {
  using V = lanes<T, N>;
  // Beyond the limit erfc rounds to zero.
  const V size = lesser(V(sizeof(T) == 4 ? T(10.1) : T(27.3)), abs(x));
  const auto [square, rest] = exact_square(size);
  const auto [n, r] = reduce_by_ln2(-square);
  const V factor = erfc_factor(size) / fma(size, V(T(2)), V(T(1)));
  const V y = scaled(exp_of_reduced(r - rest) * factor, n), one(T(1));
  // Near zero 1 - erf(x) is the better of the two.
  const V near = fma(-size, erf_near_zero(size * size), one - size);
  const V positive = where(size < V(T(0.5)), near, y);
  return where(x < V(T(0)), V(T(2)) - positive, positive);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
