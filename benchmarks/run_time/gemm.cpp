// SPDX-License-Identifier: BSL-1.0
// Matrix products beside Eigen, OpenBLAS and oneDNN called directly: squares, and the three products of a training step
// (64 x 784 x 256 forward, with the weights stored either way, and both gradients), on one thread and on two; and what
// an epilogue, relu(c + bias), adds to the bare product. Names are gemm/MxKxN/layout/threads, N for row-major operands,
// T for transposed ones. Eigen's own threads need OpenMP, so it runs on one only.
#include "../peers/contest.hpp"

#include <Eigen/Core>

#include <dlfcn.h>

#include <algorithm>
#include <string>

#if defined(KILN_BENCH_OPENBLAS)
#include <cblas.h>
#endif
#if defined(KILN_BENCH_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

#if __has_include(<kiln/device/cpu/gemm.hpp>)
#include <kiln/device/cpu/gemm.hpp>
#endif

namespace {

using contest::buffer;
using contest::enter;
using contest::random;

struct product {
  std::size_t m, k, n;
  bool a_transposed, b_transposed;
  int threads;

  std::string name() const {
    return "gemm/" + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n) + "/" +
           (a_transposed ? "T" : "N") + (b_transposed ? "T" : "N") + "/" + std::to_string(threads);
  }
  const float* a() const { return random("a", m * k); }
  const float* b() const { return random("b", k * n); }
  float* c() const { return buffer("c", m * n); }
  std::size_t lda() const { return a_transposed ? m : k; }
  std::size_t ldb() const { return b_transposed ? k : n; }
};

/// The threads of a library that works with OpenMP, if one is loaded.
[[maybe_unused]] void set_openmp_threads(int count) {
  if (void* function = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(function)(count);
}

void enter_eigen(const product& p) {
  enter(p.name(), "eigen", p.m * p.n, [p] {
    using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto size = [](std::size_t count) { return static_cast<Eigen::Index>(count); };
    const Eigen::Map<const matrix> a(p.a(), size(p.a_transposed ? p.k : p.m), size(p.lda()));
    const Eigen::Map<const matrix> b(p.b(), size(p.b_transposed ? p.n : p.k), size(p.ldb()));
    const Eigen::Map<matrix> result(p.c(), size(p.m), size(p.n));
    return [=]() mutable -> const float* {
      Eigen::Map<matrix> c(result);
      if (p.a_transposed)
        c.noalias() = a.transpose() * b;
      else if (p.b_transposed)
        c.noalias() = a * b.transpose();
      else
        c.noalias() = a * b;
      return c.data();
    };
  });
}

#if defined(KILN_BENCH_OPENBLAS)
void enter_openblas(const product& p) {
  enter(p.name(), "openblas", p.m * p.n, [p] {
    openblas_set_num_threads(p.threads);
    const auto size = [](std::size_t count) { return static_cast<int>(count); };
    return [=, a = p.a(), b = p.b(), c = p.c()]() -> const float* {
      cblas_sgemm(CblasRowMajor, p.a_transposed ? CblasTrans : CblasNoTrans, p.b_transposed ? CblasTrans : CblasNoTrans,
                  size(p.m), size(p.n), size(p.k), 1, a, size(p.lda()), b, size(p.ldb()), 0, c, size(p.n));
      return c;
    };
  });
}
#endif

#if defined(KILN_BENCH_ONEDNN)
void enter_onednn(const product& p) {
  enter(p.name(), "onednn", p.m * p.n, [p] {
    set_openmp_threads(p.threads);
    const auto size = [](std::size_t count) { return static_cast<dnnl_dim_t>(count); };
    return [=, a = p.a(), b = p.b(), c = p.c()]() -> const float* {
      dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', size(p.m), size(p.n), size(p.k), 1, a,
                 size(p.lda()), b, size(p.ldb()), 0, c, size(p.n));
      return c;
    };
  });
}
#endif

#if __has_include(<kiln/device/cpu/gemm.hpp>)
std::int64_t length(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

template <class Epilogue>
void multiply(const product& p, const float* a, const float* b, float* c, Epilogue&& epilogue) {
  kiln::cpu::gemm<float>(
      length(p.m), length(p.n), length(p.k), {a, p.a_transposed ? 1 : length(p.k), p.a_transposed ? length(p.m) : 1},
      {b, p.b_transposed ? 1 : length(p.n), p.b_transposed ? length(p.k) : 1}, c, length(p.n), false, epilogue);
}

void enter_kiln(const product& p) {
  enter(p.name(), "kiln", p.m * p.n, [p] {
    kiln::cpu::set_num_threads(p.threads);
    return [=, a = p.a(), b = p.b(), c = p.c()]() -> const float* {
      multiply(p, a, b, c, kiln::cpu::no_epilogue{});
      return c;
    };
  });
}

/// relu(a b + bias) by the epilogue, and the bare product beside it (whose result differs, so neither is compared).
void enter_epilogue(const product& p) {
  const std::string name = "gemm/relu_bias/" + p.name().substr(5);
  enter(name, "bare", 0, [p] {
    kiln::cpu::set_num_threads(p.threads);
    return [=, a = p.a(), b = p.b(), c = p.c()]() -> const float* {
      multiply(p, a, b, c, kiln::cpu::no_epilogue{});
      return c;
    };
  });
  enter(name, "kiln", 0, [p] {
    kiln::cpu::set_num_threads(p.threads);
    return [=, a = p.a(), b = p.b(), bias = random("bias", p.n), c = p.c()]() -> const float* {
      multiply(p, a, b, c, [&](std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end) {
        using array = Eigen::Array<float, 1, Eigen::Dynamic>;
        const Eigen::Map<const array> add(bias + col, col_end - col);
        for (; row < row_end; ++row) {
          Eigen::Map<array> values(c + row * length(p.n) + col, col_end - col);
          values = (values + add).max(0.0F);
        }
      });
      return c;
    };
  });
}
#endif

[[maybe_unused]] const bool registered = [] {
  for (const int threads : {1, 2}) {
    product list[] = {{64, 64, 64, false, false, threads},    {256, 256, 256, false, false, threads},
                      {512, 512, 512, false, false, threads}, {1024, 1024, 1024, false, false, threads},
                      {64, 784, 256, false, false, threads},  {64, 784, 256, false, true, threads},
                      {784, 64, 256, true, false, threads},   {256, 64, 784, true, false, threads},
                      {64, 256, 784, false, true, threads}};
    for (const product& p : list) {
      if (threads == 1) enter_eigen(p);
#if defined(KILN_BENCH_OPENBLAS)
      enter_openblas(p);
#endif
#if defined(KILN_BENCH_ONEDNN)
      enter_onednn(p);
#endif
#if __has_include(<kiln/device/cpu/gemm.hpp>)
      enter_kiln(p);
#endif
    }
#if __has_include(<kiln/device/cpu/gemm.hpp>)
    enter_epilogue({64, 784, 256, false, false, threads});
    enter_epilogue({1024, 1024, 1024, false, false, threads});
#endif
  }
  return true;
}();

}  // namespace
