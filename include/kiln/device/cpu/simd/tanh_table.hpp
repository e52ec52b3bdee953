// SPDX-License-Identifier: BSL-1.0
// tanh of sixteen floats by table: AVX-512 looks up thirty-two entries in one instruction, so each lane gets the
// polynomial of its own short interval. Fewer instructions than the general form in hyperbolic.hpp, and no division,
// which occupies a Xeon or a Zen 4 as long as five to ten of them.
#pragma once

#include <cstdint>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/memory.hpp>
#include <kiln/device/cpu/simd/polynomial.hpp>
#include <kiln/device/cpu/simd/rounding.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Width of an interval. It has few bits, so that n * width is exact.
inline constexpr float tanh_interval = 37.0f / 128;
/// Lies in the last interval, of which all is 1: tanh rounds to 1 from 9.02 on, and is half an ulp below at 8.82.
inline constexpr float tanh_is_one = 9.0f;

/// Row j holds, for each interval, the coefficient of t^j in tanh(x) around its middle x = n * width + t. Our own, by
/// weighted least squares (C. Lawson 1961), each rounded before the next is fitted; the first interval is only the half
/// above 0, where tanh(t) = t + ... must keep all digits. The relative error is below 2^-23.4.
alignas(64) inline constexpr float tanh_coefficients[6][32] = {
    {0.0f, 0.2812717f, 0.5213013f, 0.69994235f, 0.819814f, 0.8947621f, 0.93957084f, 0.96564656f, 0.9805831f,
     0.9890615f, 0.9938493f, 0.9965451f, 0.9980605f, 0.99891156f, 0.9993893f, 0.9996574f, 0.9998078f, 0.9998922f,
     0.9999395f, 0.9999661f, 0.999981f, 0.99998933f, 0.99999404f, 0.99999666f, 0.9999981f, 0.9999989f, 0.9999994f,
     0.99999964f, 0.9999998f, 0.9999999f, 0.99999994f, 1.0f},
    {1.0f, 0.9208866f, 0.72824496f, 0.5100807f, 0.327905f, 0.1994008f, 0.11720666f, 0.067526676f, 0.03845689f,
     0.021757448f, 0.012263648f, 0.006897898f, 0.0038752465f, 0.0021756683f, 0.0012210228f, 6.851154e-04f,
     3.8437272e-04f, 2.1563175e-04f, 1.2096417e-04f, 6.7856556e-05f, 3.8064645e-05f, 2.1352509e-05f,
     1.1977729e-05f, 6.7189144e-06f, 3.7689747e-06f, 2.114205e-06f, 1.1859621e-06f, 6.6526457e-07f, 3.731797e-07f,
     2.0933484e-07f, 1.1742621e-07f, 0.0f},
    {6.4128517e-07f, -0.2590033f, -0.3796354f, -0.35702914f, -0.2688298f, -0.178419f, -0.11012906f, -0.06520361f,
     -0.03771475f, -0.021523919f, -0.012191423f, -0.0068727937f, -0.0038731345f, -0.0021706233f, -0.0012180991f,
     -6.865761e-04f, -3.804394e-04f, -2.1501062e-04f, -1.1812375e-04f, -7.0496804e-05f, -4.1627616e-05f,
     -2.2707143e-05f, -1.7416392e-05f, -1.0853372e-05f, 6.0614684e-07f, 9.06062e-07f, -5.9929465e-07f,
     4.1186468e-06f, -1.8614146e-06f, 2.5738425e-06f, 5.3206744e-08f, 0.0f},
    {-0.33337298f, -0.23417446f, -0.04486471f, 0.079870276f, 0.1110783f, 0.09317408f, 0.06440044f, 0.04045861f,
     0.024158483f, 0.014031275f, 0.008025266f, 0.0045510246f, 0.0025684142f, 0.0014457273f, 8.125181e-04f,
     4.5626945e-04f, 2.5610055e-04f, 1.4370758e-04f, 8.062876e-05f, 4.5232704e-05f, 2.5374715e-05f, 1.4234442e-05f,
     7.984846e-06f, 4.479166e-06f, 2.5126515e-06f, 1.4094614e-06f, 7.906327e-07f, 4.435149e-07f, 2.487833e-07f,
     1.395563e-07f, 7.82837e-08f, 0.0f},
    {7.2728103e-04f, 0.15001325f, 0.14923088f, 0.06345295f, -6.7282945e-04f, -0.02360039f, -0.023537844f,
     -0.017464174f, -0.010961352f, -0.0065483074f, -0.0038003034f, -0.002298678f, -0.0010709447f, -8.242319e-04f,
     -4.8980763e-04f, -1.6358668e-04f, -2.7605714e-04f, -9.491886e-05f, -1.4886819e-04f, 7.847214e-05f,
     1.2368787e-04f, 4.4723736e-05f, 2.041804e-04f, 1.5601394e-04f, -1.6873109e-04f, -1.1631681e-04f,
     -2.285297e-05f, -1.8334147e-04f, 5.6842062e-05f, -1.0660474e-04f, -6.570763e-06f, 0.0f},
    {0.12887618f, 0.05816267f, -0.04534509f, -0.059142068f, -0.02847213f, -0.005380037f, 0.0034588452f,
     0.00471309f, 0.0037238114f, 0.0024514573f, 0.001492727f, 8.7378867e-04f, 5.0518e-04f, 2.8540238e-04f,
     1.6185378e-04f, 9.125209e-05f, 5.120935e-05f, 2.8781718e-05f, 1.6126387e-05f, 9.07816e-06f, 5.095414e-06f,
     2.8568616e-06f, 1.6065707e-06f, 9.0027646e-07f, 5.0296524e-07f, 2.826088e-07f, 1.5872381e-07f, 8.8682555e-08f,
     4.9976155e-08f, 2.7976249e-08f, 1.5706311e-08f, 0.0f}};

#if defined(__AVX512F__)
[[gnu::always_inline]] inline lanes<float, 16> tanh_by_table(lanes<float, 16> x) {
  using V = lanes<float, 16>;
  // NaN passes the limit; its lanes then take any entry and stay NaN.
  const V size = lesser(V(tanh_is_one), abs(x));
  const auto [number, t] = place_in_intervals(size, tanh_interval);
  const V square = t * t;
  const auto index = std::bit_cast<intrinsic::m512i>(number.v);
  const auto row = [&](int j) __attribute__((always_inline)) {
    const float* const entries = &tanh_coefficients[j][0];
    return V(static_cast<V::native>(
        intrinsic::mm512_permutex2var_ps(load<16>(entries).v, index, load<16>(entries + 16).v)));
  };
  // In pairs, which is a shorter chain than Horner's rule.
  const V y = fma(fma(fma(row(5), t, row(4)), square, fma(row(3), t, row(2))), square, fma(row(1), t, row(0)));
  // The sign goes on by one instruction where y is known to have none.
  return bits_as<float>(bits_as<std::uint32_t>(y) | (bits_as<std::uint32_t>(x) & lanes<std::uint32_t, 16>(1u << 31)));
}
#endif

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
