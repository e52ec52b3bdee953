// SPDX-License-Identifier: BSL-1.0
// The instruction set that a file is compiled for, as the name of a namespace. What depends on it stands in an inline
// namespace of this name, so that files of one program may be compiled with different -m flags: their kernels, of
// different widths and layouts, are then different functions. What the whole program has once (memory, threads,
// tensors) stands outside.
#pragma once

// The levels are those of the x86-64 psABI. Between two of them stands what has some of the features that kernels ask
// for and lacks others.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__FMA__) && defined(__F16C__)
#define KILN_VERSION_ISA x86_64_v4
#elif defined(__AVX512F__)
#define KILN_VERSION_ISA x86_64_avx512f
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define KILN_VERSION_ISA x86_64_v3
#elif defined(__AVX2__)
#define KILN_VERSION_ISA x86_64_avx2
#elif defined(__AVX__) && defined(__FMA__)
#define KILN_VERSION_ISA x86_64_avx_fma
#elif defined(__AVX__)
#define KILN_VERSION_ISA x86_64_avx
#elif defined(__SSE4_1__)
#define KILN_VERSION_ISA x86_64_v2
#elif defined(__SSE2__)
#define KILN_VERSION_ISA x86_64
#elif defined(__aarch64__)
#define KILN_VERSION_ISA aarch64
#else
#define KILN_VERSION_ISA generic
#endif
