// SPDX-License-Identifier: BSL-1.0
// exp, exp2, expm1, sigmoid. x = n ln 2 + r with |r| <= ln 2 / 2 (W. J. Cody and W. Waite 1980), a minimax polynomial
// for e^r, and 2^n put into the exponent. The coefficients are our own, by the Remez algorithm with relative weight.
#pragma once

#include <limits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/polynomial.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// x = n ln 2 + r; n is an integer.
template <class V>
struct reduced_by_ln2 {
  V n, r;
};
template <int N>
[[gnu::always_inline]] inline reduced_by_ln2<lanes<float, N>> reduce_by_ln2(lanes<float, N> x) {
  using V = lanes<float, N>;
  const V n = nearest(x * V(0x1.715476p+0f));
  // The first part of ln 2 has 15 bits, so that its product with n is exact without FMA too.
  return {n, fma(n, V(-0x1.7f7d1cp-20f), fma(n, V(-0x1.62e4p-1f), x))};
}
template <int N>
[[gnu::always_inline]] inline reduced_by_ln2<lanes<double, N>> reduce_by_ln2(lanes<double, N> x) {
  using V = lanes<double, N>;
  const V n = nearest(x * V(0x1.71547652b82fep+0));
  return {n, fma(n, V(-0x1.3de6af278ece6p-42), fma(n, V(-0x1.62e42fefa3p-1), x))};
}

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2.
template <int N>
[[gnu::always_inline]] inline lanes<float, N> exp_tail(lanes<float, N> r) {
  return polynomial(r, 0x1p-1f, 0x1.555554p-3f, 0x1.55554bp-5f, 0x1.11118ap-7f, 0x1.6d7298p-10f, 0x1.a032eap-13f);
}
template <int N>
[[gnu::always_inline]] inline lanes<double, N> exp_tail(lanes<double, N> r) {
  return polynomial(r, 0x1p-1, 0x1.5555555555559p-3, 0x1.555555555553ep-5, 0x1.111111110f6aap-7, 0x1.6c16c16c1f17p-10,
                    0x1.a01a01afe9aa7p-13, 0x1.a01a017b9319dp-16, 0x1.71ddf841f2387p-19, 0x1.27e536643d618p-22,
                    0x1.af5ee86fea224p-26, 0x1.1ee8832e21fdcp-29);
}

/// `x` limited to [low, high]; NaN stays NaN.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> limited(lanes<T, N> x, T low, T high) {
  return lesser(lanes<T, N>(high), greater(lanes<T, N>(low), x));
}

/// e^r for |r| <= ln 2 / 2, between 0.7 and 1.42.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> exp_of_reduced(lanes<T, N> r) {
  const lanes<T, N> one(T(1));
  if constexpr (sizeof(T) == 4) {
    const auto tail = polynomial(r, 0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558f4p-5f, 0x1.123a6cp-7f, 0x1.6a2358p-10f);
    return fma(r * r, tail, r) + one;
  } else {
    const auto tail =
        polynomial(r, 0x1.000000000000ap-1, 0x1.55555555554f9p-3, 0x1.55555555507f1p-5, 0x1.1111111127e85p-7,
                   0x1.6c16c1844adf2p-10, 0x1.a01a0129b3242p-13, 0x1.a01999ae210afp-16, 0x1.71df262fbb003p-19,
                   0x1.28adce2bb3e0cp-22, 0x1.ad7efcdea076bp-26);
    return fma(r * r, tail, r) + one;
  }
}

/// e^x.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> exp(lanes<T, N> x) {
  constexpr bool single = sizeof(T) == 4;
  // Just beyond where the result is infinite, or rounds to zero.
  const auto [n, r] = reduce_by_ln2(limited(x, single ? T(-104) : T(-746), single ? T(89) : T(710)));
  return scaled(exp_of_reduced(r), n);
}

/// 2^x.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> exp2(lanes<T, N> x) {
  using V = lanes<T, N>;
  const V inside = sizeof(T) == 4 ? limited(x, T(-151), T(129)) : limited(x, T(-1076), T(1025));
  const V n = nearest(inside), r = inside - n;
  if constexpr (sizeof(T) == 4) {
    const V p =
        polynomial(r, 0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6aedp-5f, 0x1.3b29aap-7f, 0x1.5f47bp-10f, 0x1.448fc4p-13f);
    return scaled(fma(r, p, V(T(1))), n);
  } else {
    const V p = polynomial(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0d1p-5, 0x1.3b2ab6fba4e82p-7,
                           0x1.5d87fe78a22cdp-10, 0x1.430912f868d4p-13, 0x1.ffcbfc75e4881p-17, 0x1.62c0224dac8afp-20,
                           0x1.b524db5303718p-24, 0x1.e4cee81d803afp-28, 0x1.ea04203517aa8p-32, 0x1.c4dace580a3c5p-36);
    return scaled(fma(r, p, V(T(1))), n);
  }
}

/// e^x - 1 without the sign of a zero: 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)), where halving keeps n = 128 in range.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> expm1_of_limited(lanes<T, N> x) {
  using V = lanes<T, N>;
  const auto [n, r] = reduce_by_ln2(x);
  const V p = fma(r * r, exp_tail(r), r), s = power_of_two(n - V(T(1)));
  const V half = fma(s, p, s - V(T(0.5)));
  return half + half;
}

/// e^x - 1, exact in relative terms near zero.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> expm1(lanes<T, N> x) {
  constexpr bool single = sizeof(T) == 4;
  const auto inside = limited(x, single ? T(-20) : T(-40), single ? T(89) : T(710));
  return copysign(expm1_of_limited(inside), x);
}

/// 1 / (1 + e^-x). Through e^-|x|, so that nothing overflows and small results keep their digits.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> sigmoid(lanes<T, N> x) {
  using V = lanes<T, N>;
  const V e = exp(-abs(x)), one(T(1));
  return where(x < V(T(0)), e, one) / (one + e);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
