// SPDX-License-Identifier: BSL-1.0
// erf of sixteen floats by table: AVX-512 looks up sixteen entries in one instruction, so each lane gets the
// polynomial of its own short interval. About half the instructions of the general form in error_function.hpp.
#pragma once

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/memory.hpp>
#include <kiln/device/cpu/simd/polynomial.hpp>
#include <kiln/device/cpu/simd/rounding.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Width of an interval. It has few bits, so that n * width is exact, and 15.5 of them reach where erf rounds to 1.
inline constexpr float erf_interval = 65.0f / 256;
/// Where erf rounds to 1, and the polynomial of the last interval gives no less.
inline constexpr float erf_is_one = 3.92f;

/// Row j holds, for each interval, the coefficient of t^j in erf(x) / x around its middle x = n * width + t. Our own,
/// by the Remez algorithm with relative weight; the relative error is below 2^-28.
alignas(64) inline constexpr float erf_coefficients[6][16] = {
    {1.12837911f, 1.1045928f, 1.03845119f, 0.943424106f, 0.836023152f, 0.730512261f, 0.635927856f, 0.555912435f,
     0.490303606f, 0.437068343f, 0.393716305f, 0.358013958f, 0.328199744f, 0.302957654f, 0.281318545f, 0.262564093f},
    {0.0f, -0.183780834f, -0.327996135f, -0.409314483f, -0.427111775f, -0.39805913f, -0.344703019f, -0.285814077f,
     -0.232410014f, -0.188599199f, -0.154359028f, -0.128018588f, -0.107682414f, -0.09177728f, -0.0791391283f,
     -0.0689397529f},
    {-0.376122475f, -0.33411324f, -0.225990608f, -0.0942872614f, 0.0183006022f, 0.0883829892f, 0.115472138f,
     0.112887643f, 0.096197091f, 0.0764429793f, 0.0590047985f, 0.0453740396f, 0.0352370255f, 0.0277837645f,
     0.0222596265f, 0.0181005262f},
    {0.0f, 0.106105156f, 0.167877972f, 0.168121681f, 0.122309819f, 0.0618294589f, 0.0124872569f, -0.0157182328f,
     -0.0256742667f, -0.025062941f, -0.0204453766f, -0.0154407388f, -0.0113634383f, -0.00837340206f, -0.00625369744f,
     -0.00475116167f},
    {0.112189285f, 0.0878918543f, 0.030417081f, -0.0266971048f, -0.0572046414f, -0.0568584688f, -0.038491454f,
     -0.0177458785f, -0.00340832327f, 0.00334962131f, 0.00507549522f, 0.0045520952f, 0.00345932762f, 0.00247466215f,
     0.00174848945f, 0.00124700414f},
    {0.0f, -0.0360950828f, -0.0497295521f, -0.0365798622f, -0.0108976513f, 0.00966206286f, 0.0171464011f, 0.0143810017f,
     0.00808454771f, 0.0029176583f, 0.000166889251f, -0.000780259375f, -0.000860579778f, -0.000674996874f,
     -0.000474604312f, -0.000323995919f}};

#if defined(__AVX512F__)
[[gnu::always_inline]] inline lanes<float, 16> erf_by_table(lanes<float, 16> x) {
  using V = lanes<float, 16>;
  // NaN passes the limit; its lanes then take any entry and stay NaN.
  const V size = lesser(V(erf_is_one), abs(x));
  const auto [number, t] = place_in_intervals(size, erf_interval);
  const auto index = std::bit_cast<intrinsic::m512i>(number.v);
  const auto row = [&](int j) __attribute__((always_inline)) {
    return V(static_cast<V::native>(intrinsic::mm512_permutexvar_ps(index, load<16>(&erf_coefficients[j][0]).v)));
  };
  const V low = fma(fma(row(5), t, row(4)), t, row(3));
  const V y = size * fma(fma(fma(low, t, row(2)), t, row(1)), t, row(0));
  return copysign(lesser(V(1.0f), y), x);
}
#endif

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
