// SPDX-License-Identifier: BSL-1.0
// Kernels that convert float to 8-bit floating numbers and back: core/float8.hpp's conversions, step by step.
#pragma once

namespace kiln::cuda {

inline constexpr const char* float8_encoder_text = R"(
extern "C" __global__ void kiln_to_float8(unsigned char* y, const float* x, int fraction, int saturate, long long n) {
  const unsigned dropped = 23 - fraction, bias = fraction == 3 ? 7 : 15, largest = fraction == 3 ? 0x7e : 0x7b;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    const unsigned all = __float_as_uint(x[i]), sign = (all >> 24) & 0x80u, size = all & 0x7fffffffu;
    unsigned rounded = 0x7f;
    if (size <= 0x7f800000u) {
      if (size < (128u - bias) << 23) {
        const unsigned steps = (151u - bias - fraction) << 23;
        rounded = __float_as_uint(__uint_as_float(size) + __uint_as_float(steps)) - steps;
      } else {
        rounded = ((size + (1u << (dropped - 1)) - 1 + ((size >> dropped) & 1u)) >> dropped) -
                  ((127u - bias) << fraction);
      }
      if (rounded > largest) rounded = saturate ? largest : largest + 1;
    }
    y[i] = (unsigned char)(sign | rounded);
  }
})";

inline constexpr const char* float8_decoder_text = R"(
extern "C" __global__ void kiln_from_float8(float* y, const unsigned char* x, int fraction, long long n) {
  const unsigned bias = fraction == 3 ? 7 : 15;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    const unsigned sign = (x[i] & 0x80u) << 24, size = x[i] & 0x7fu;
    unsigned bits = (size << (23 - fraction)) + ((127u - bias) << 23);
    if (size >> fraction == 0)
      bits = __float_as_uint((float)size * __uint_as_float((128u - bias - fraction) << 23));
    else if (fraction == 3 ? size == 0x7f : size > 0x7c)
      bits = 0x7fc00000u;
    else if (fraction == 2 && size == 0x7c)
      bits = 0x7f800000u;
    y[i] = __uint_as_float(sign | bits);
  }
})";

}  // namespace kiln::cuda
