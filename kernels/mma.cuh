// SPDX-License-Identifier: BSL-1.0
// Tensor cores: a warp's product of 16 x 16 and 16 x 8 numbers of a half type, summed in float (sm_80 and later), and
// how its operands come out of shared memory. Who has which element: PTX ISA, "Matrix Fragments for mma.m16n8k16".
#pragma once

#include <kernels/types.cuh>

namespace kiln::kernels {

/// Four matrices of 8 x 8 elements of 16 bits out of shared memory; lane l says where row l % 8 of matrix l / 8 begins,
/// at a multiple of 16 bytes. Of matrix m, out[m] has row lane / 4, columns 2 (lane % 4) and the next.
__device__ inline void load_matrices(uint32 (&out)[4], const void* row) {
#if defined(KILN_EMULATOR)
  emulator::load_matrices(out, row, false);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(uint32(__cvta_generic_to_shared(row)))
               : "memory");
#endif
}
/// The same of the transposed matrices: out[m] has rows 2 (lane % 4) and the next of column lane / 4.
__device__ inline void load_transposed_matrices(uint32 (&out)[4], const void* row) {
#if defined(KILN_EMULATOR)
  emulator::load_matrices(out, row, true);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(uint32(__cvta_generic_to_shared(row)))
               : "memory");
#endif
}

/// Adds the product of a (16 x 16) and b (16 x 8) to (c0 c1; c2 c3), which stand in rows lane / 4 and that + 8, columns
/// 2 (lane % 4) and the next.
template <class T>
__device__ inline void multiply_matrices(float& c0, float& c1, float& c2, float& c3, const uint32 (&a)[4], uint32 b0,
                                         uint32 b1);
template <>
__device__ inline void multiply_matrices<half>(float& c0, float& c1, float& c2, float& c3, const uint32 (&a)[4],
                                               uint32 b0, uint32 b1) {
#if defined(KILN_EMULATOR)
  emulator::multiply_matrices(c0, c1, c2, c3, a, b0, b1, [](uint16 bits) { return to_float(half{bits}); });
#else
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}
template <>
__device__ inline void multiply_matrices<bfloat16>(float& c0, float& c1, float& c2, float& c3, const uint32 (&a)[4],
                                                   uint32 b0, uint32 b1) {
#if defined(KILN_EMULATOR)
  emulator::multiply_matrices(c0, c1, c2, c3, a, b0, b1, [](uint16 bits) { return to_float(bfloat16{bits}); });
#else
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/// Two numbers rounded to T, the first in the lower 16 bits.
template <class T>
__device__ inline uint32 packed(float low, float high);
template <>
__device__ inline uint32 packed<half>(float low, float high) {
#if defined(__CUDA_ARCH__)
  uint32 out;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
#else
  return to_half(low).bits | uint32(to_half(high).bits) << 16;
#endif
}
template <>
__device__ inline uint32 packed<bfloat16>(float low, float high) {
#if defined(__CUDA_ARCH__)
  uint32 out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
#else
  return to_bfloat16(low).bits | uint32(to_bfloat16(high).bits) << 16;
#endif
}

}  // namespace kiln::kernels
