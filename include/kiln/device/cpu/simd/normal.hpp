// SPDX-License-Identifier: BSL-1.0
// The normal distribution: e^(-x^2/2), and the distribution function Phi, with all digits however far out. Below 0 Phi
// is e^(-x^2/2) R(-x) with a slowly varying R (J. Mills, Biometrika 18, 1926). Both functions begin with the same
// operations, which a compiler does once where both are wanted of one x, as by gelu's derivative. The coefficients are
// our own.
#pragma once

#include <cmath>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/error_function.hpp>
#include <kiln/device/cpu/simd/exp.hpp>
#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Row j holds, for each interval of t, the coefficient of d^j in R(t) = e^(t^2/2) (1 - Phi(t)) around the interval's
/// middle t - d, which row 7 holds. Each power of two has four intervals of t + 1, so that the exponent's last two bits
/// and the fraction's first two are its number. By weighted least squares (C. Lawson 1961); off by 2^-27.6 at most.
alignas(64) inline constexpr float tail_coefficients[8][16] = {
    {0.23076032f, 0.18523167f, 0.15365194f, 0.13072473f, 0.106345154f, 0.084803395f, 0.0703427f, 0.060015675f,
     0.049122546f, 0.039506692f, 0.033018973f, 0.028352661f, 0.45379323f, 0.37960443f, 0.32335618f, 0.27977058f},
    {-0.11049189f, -0.07478687f, -0.05322542f, -0.039449263f, -0.026734248f, -0.017327016f, -0.012057464f,
     -0.0088403905f, -0.005961912f, -0.0038753396f, -0.0027146277f, -0.002005033f, -0.34221813f, -0.25659063f,
     -0.19684468f, -0.15414304f},
    {0.046322737f, 0.027177323f, 0.01694737f, 0.011119632f, 0.0063876524f, 0.0034159103f, 0.0020133231f, 0.001276568f,
     7.1363046e-04f, 3.7665013e-04f, 2.217207e-04f, 1.4109914e-04f, 0.20550798f, 0.14169148f, 0.10016412f, 0.07244771f},
    {-0.017528884f, -0.009075308f, -0.005031201f, -0.0029567254f, -0.001459001f, -6.517705e-04f, -3.2805192e-04f,
     -1.8089618e-04f, -8.427651e-05f, -3.6276877e-05f, -1.7992419e-05f, -9.881518e-06f, -0.105509296f, -0.06781847f,
     -0.044747204f, -0.03025034f},
    {0.006102659f, 0.0028237663f, 0.0014067369f, 7.471327e-04f, 3.2013218e-04f, 1.2069024e-04f, 5.2243962e-05f,
     2.5179794e-05f, 9.827372e-06f, 3.4637565e-06f, 1.4509219e-06f, 6.8875806e-07f, 0.048079826f, 0.029064853f,
     0.018049248f, 0.011494639f},
    {-0.0019994504f, -8.334501e-04f, -3.7573892e-04f, -1.8145154e-04f, -6.8938585e-05f, -2.2023938e-05f,
     -8.224685e-06f, -3.4727166e-06f, -1.1577259e-06f, -3.3299733e-07f, -1.1757662e-07f, -4.818313e-08f,
     -0.019974137f, -0.0114223715f, -0.006713854f, -0.004049781f},
    {6.0875533e-04f, 2.3089288e-04f, 9.5007636e-05f, 4.2023676e-05f, 1.4067377e-05f, 3.8592293e-06f, 1.2549283e-06f,
     4.6728843e-07f, 1.3160508e-07f, 3.1245904e-08f, 9.36295e-09f, 3.3267789e-09f, 0.0076146885f, 0.004141084f,
     0.002315524f, 0.0013293066f},
    {1.25f, 1.75f, 2.25f, 2.75f, 3.5f, 4.5f, 5.5f, 6.5f, 8.0f, 10.0f, 12.0f, 14.0f, 0.125f, 0.375f, 0.625f, 0.875f}};

/// R(t) for 0 <= t < 15; but by table, a polynomial of (t - K) / (t + K) over t + K (M. Shepherd and J. Laframboise,
/// Math. Comp. 36, 1981).
template <int N>
[[gnu::always_inline]] inline lanes<float, N> tail_ratio(lanes<float, N> t) {
  using V = lanes<float, N>;
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    const auto number = std::bit_cast<intrinsic::m512i>(bits_as<std::uint32_t>(t + V(1.0f)).v >> 21);
    const auto row = [&](int j) __attribute__((always_inline)) {
      const auto entries = intrinsic::mm512_permutexvar_ps(number, load<16>(&tail_coefficients[j][0]).v);
      return V(static_cast<typename V::native>(entries));
    };
    const V d = t - row(7);
    const V high = fma(fma(fma(row(6), d, row(5)), d, row(4)), d, row(3));
    return fma(fma(fma(high, d, row(2)), d, row(1)), d, row(0));
  }
#endif
  const V r = V(1.0f) / (t + V(2.75f));
  return r * polynomial((t - V(2.75f)) * r, 0x1.701efp-1f, -0x1.e5bd2p-2f, 0x1.756b76p-3f, -0x1.0f5c2cp-6f,
                        -0x1.0d5a9cp-6f, 0x1.a1cf8p-9f, 0x1.4536b8p-9f, -0x1.03985cp-12f, -0x1.aa7c1cp-12f,
                        -0x1.21450cp-14f);
}
/// The same, for 0 <= t < 38.7.
template <int N>
[[gnu::always_inline]] inline lanes<double, N> tail_ratio(lanes<double, N> t) {
  using V = lanes<double, N>;
  const V z = t * V(0x1.6a09e667f3bcdp-1);
  return erfc_factor(z) / fma(z, V(4.0), V(2.0));
}

/// 2 to sixteenths.
alignas(64) inline constexpr float sixteenths[16] = {
    1.0f,       1.0442737f, 1.0905077f, 1.1387886f, 1.1892071f, 1.2418578f, 1.2968396f, 1.3542556f,
    1.4142135f, 1.4768262f, 1.5422108f, 1.6104903f, 1.6817929f, 1.7562522f, 1.8340081f, 1.9152066f};

/// e^(-t^2/2) = p 2^n, for t = |x| as far out as that is not 0 yet; `scaled` takes n.
template <class V>
struct bell_parts {
  V t, p, n;
};
template <std::floating_point T, int N>
[[gnu::always_inline]] inline bell_parts<lanes<T, N>> bell(lanes<T, N> x) {
  using V = lanes<T, N>;
  // Beyond the limit both functions round to zero.
  const V t = lesser(V(sizeof(T) == 4 ? T(14.75) : T(38.61)), abs(x));
#if defined(__AVX512F__)
  if constexpr (std::same_as<T, float> && N == 16) {
    // n is the multiple of 1/16 next to -t^2/2 / ln 2, and `scaled` takes its integer part: the table has the rest. Its
    // number stands in the low bits of a sum with 1.5 * 2^19. u is -2r for the rest r of -t^2/2.
    const V shift(0x1.8p19f), square = t * t, number = fma(square, V(-0x1.715476p-1f), shift), n = number - shift;
    const V u = fma(n, V(0x1.62e43p+0f), square) + fma(n, V(-0x1.05c61p-28f), fma(t, t, -square));
    const V part(static_cast<typename V::native>(
        intrinsic::mm512_permutexvar_ps(std::bit_cast<intrinsic::m512i>(number.v), load<16>(&sixteenths[0]).v)));
    const V p = polynomial(u, -0x1p-1f, 0x1.00022ap-3f, -0x1.55522ap-6f);
    return {t, fma(part, u * p, part), n};
  }
#endif
  V square, rest;
  if constexpr (has_fma) {
    const V h = t * V(T(-0.5));
    square = h * t;
    rest = fma(h, t, -square);
  } else {
    const auto [high, low] = exact_square(t);
    square = high * V(T(-0.5));
    rest = low * V(T(-0.5));
  }
  const auto [n, r] = reduce_by_ln2(square);
  return {t, exp_of_reduced(r + rest), n};
}

/// e^(-x^2/2).
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> gaussian(lanes<T, N> x) {
  const auto b = bell(x);
  return scaled(b.p, b.n);
}
/// The normal distribution function, exact in relative terms far below 0.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> ndtr(lanes<T, N> x) {
  using V = lanes<T, N>;
  const auto b = bell(x);
  V beyond = scaled(b.p * tail_ratio(b.t), b.n);
  if constexpr (sizeof(T) == 8) {
    // Near zero (1 - erf) / 2 is the better of the two.
    const V z = b.t * V(0x1.6a09e667f3bcdp-1), half(0.5), h = z * half;
    beyond = where(z < half, fma(-h, erf_near_zero(z * z), half - h), beyond);
  }
  return where(x < V(T(0)), beyond, V(T(1)) - beyond);
}

/// The same of one number, by the standard library, in the order in which C++ text has it (transform/cpp_text.hpp):
/// what the square, and the argument of erfc, were rounded off by is made good.
template <std::floating_point T>
T gaussian_of(T x) {
  return x < -40 || x > 40 ? 0 : std::exp(x * x / -2) * (1 - std::fma(x, x, -(x * x)) / 2);
}
template <std::floating_point T>
T ndtr_of(T x) {
  const T half = x * x / 2, z = std::sqrt(half);
  return x < -40  ? 0
         : x >= 0 ? std::erfc(-z) / 2
                  : std::erfc(z) / 2 * (1 + std::fma(z, z, -half) - std::fma(x, x, -(x * x)) / 2);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
