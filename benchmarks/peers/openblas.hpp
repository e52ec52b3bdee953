// SPDX-License-Identifier: BSL-1.0
// OpenBLAS as a peer, by what its library exports. Not linked, since libtorch exports a BLAS of its own by the same
// names, and whichever comes first stands in for both: libtorch's products were OpenBLAS's. And since OpenBLAS chooses
// kernels when it is loaded: releases older than the processor know neither its name nor its instructions (0.3.21 takes
// SSE3 kernels on an Emerald Rapids, AVX2 on a Zen 5), so those for AVX-512 are asked for where the processor has it.
#pragma once

#include <benchmark/benchmark.h>
#include <cblas.h>

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

namespace peers {

/// OpenBLAS, loaded when first asked for. Throws std::runtime_error without its library.
struct openblas {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  decltype(&openblas_set_num_threads) set_num_threads;

  static const openblas& get() {
    static const openblas library;
    return library;
  }

 private:
  openblas() {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);  // 0: what the user set stays
    void* const handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    find(handle, "cblas_sgemm", sgemm);
    find(handle, "cblas_dgemm", dgemm);
    find(handle, "openblas_set_num_threads", set_num_threads);
    decltype(&openblas_get_corename) core = nullptr;
    find(handle, "openblas_get_corename", core);
    benchmark::AddCustomContext("openblas", core());
  }

  template <class F>
  static void find(void* handle, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (function == nullptr) throw std::runtime_error(dlerror());
  }
};

}  // namespace peers
