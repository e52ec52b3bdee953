// SPDX-License-Identifier: BSL-1.0
// Matrix products beside Eigen, OpenBLAS and oneDNN called directly: squares, and the three products of a training step
// (64 x 784 x 256 forward, with the weights stored either way, and both gradients), on one thread and on two; and what
// an epilogue, relu(c + bias), adds to the bare product. Names are gemm/MxKxN/layout/threads, N for row-major operands,
// T for transposed ones. Eigen's own threads need OpenMP, so it runs on one only. gemm/drawn/ has shapes drawn from 1
// to 2048, half of them with leading dimensions that are powers of two (lda and ldb stand in the name); gemm/f64/ has
// products of doubles, gemm/half/ and gemm/bfloat16/ those of half types beside the same product of floats.
#include "../peers/contest.hpp"

#include <Eigen/Core>

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#if defined(KILN_BENCH_OPENBLAS)
#include "../peers/openblas.hpp"
#endif
#if defined(KILN_BENCH_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

#if __has_include(<kiln/device/cpu/products/gemm.hpp>)
#include <kiln/device/cpu/products/gemm.hpp>
#endif

namespace {

using contest::buffer;
using contest::enter;
using contest::random;

struct product {
  std::size_t m, k, n;
  bool a_transposed, b_transposed;
  int threads;
  std::size_t a_padded = 0, b_padded = 0;  // leading dimensions, if they are not the sizes

  std::string name() const {
    if (a_padded != 0)
      return "gemm/drawn/" + plain_name().substr(5) + "/" + std::to_string(a_padded) + "/" + std::to_string(b_padded);
    return plain_name();
  }
  std::string plain_name() const {
    return "gemm/" + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n) + "/" +
           (a_transposed ? "T" : "N") + (b_transposed ? "T" : "N") + "/" + std::to_string(threads);
  }
  const float* a() const { return random("a", (a_transposed ? k : m) * lda()); }
  const float* b() const { return random("b", (b_transposed ? n : k) * ldb()); }
  float* c() const { return buffer("c", m * n); }
  std::size_t lda() const { return a_padded != 0 ? a_padded : a_transposed ? m : k; }
  std::size_t ldb() const { return b_padded != 0 ? b_padded : b_transposed ? k : n; }
};

/// Shapes whose sizes are 2 to a power drawn from 0 to 11, in all layouts.
std::vector<product> drawn_products(int count) {
  std::mt19937 draw(1);
  std::vector<product> out;
  const auto size = [&] { return static_cast<std::size_t>(std::exp2(std::uniform_real_distribution<>(0, 11)(draw))); };
  for (int i = 0; i < count; ++i) {
    product p{size(), size(), size(), draw() % 2 == 1, draw() % 2 == 1, 1};
    const bool powers = draw() % 2 == 1;
    const std::size_t a = p.lda(), b = p.ldb();
    p.a_padded = powers ? std::bit_ceil(a) : a;
    p.b_padded = powers ? std::bit_ceil(b) : b;
    out.push_back(p);
  }
  return out;
}

/// The threads of a library that works with OpenMP, if one is loaded.
[[maybe_unused]] void set_openmp_threads(int count) {
  if (void* function = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(function)(count);
}

void enter_eigen(const product& p) {
  enter(p.name(), "eigen", p.m * p.n, [p] {
    using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto size = [](std::size_t count) { return static_cast<Eigen::Index>(count); };
    using operand = Eigen::Map<const matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
    const auto stored = [&size](const float* from, bool transposed, std::size_t rows, std::size_t columns,
                                std::size_t stride) {
      return operand(from, size(transposed ? columns : rows), size(transposed ? rows : columns),
                     Eigen::OuterStride<>(size(stride)));
    };
    const operand a = stored(p.a(), p.a_transposed, p.m, p.k, p.lda()),
                  b = stored(p.b(), p.b_transposed, p.k, p.n, p.ldb());
    const Eigen::Map<matrix> result(p.c(), size(p.m), size(p.n));
    return [=]() mutable -> const float* {
      Eigen::Map<matrix> c(result);
      if (p.a_transposed && p.b_transposed)
        c.noalias() = a.transpose() * b.transpose();
      else if (p.a_transposed)
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
  const peers::openblas& blas = peers::openblas::get();
  enter(p.name(), "openblas", p.m * p.n, [p, &blas] {
    blas.set_num_threads(p.threads);
    const auto size = [](std::size_t count) { return static_cast<int>(count); };
    return [=, &blas, a = p.a(), b = p.b(), c = p.c()]() -> const float* {
      blas.sgemm(CblasRowMajor, p.a_transposed ? CblasTrans : CblasNoTrans, p.b_transposed ? CblasTrans : CblasNoTrans,
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

#if __has_include(<kiln/device/cpu/products/gemm.hpp>)
std::int64_t length(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

template <class Epilogue>
void multiply(const product& p, const float* a, const float* b, float* c, Epilogue&& epilogue) {
  kiln::cpu::gemm<float>(length(p.m), length(p.n), length(p.k),
                         {a, p.a_transposed ? 1 : length(p.lda()), p.a_transposed ? length(p.lda()) : 1},
                         {b, p.b_transposed ? 1 : length(p.ldb()), p.b_transposed ? length(p.ldb()) : 1}, c,
                         length(p.n), false, epilogue);
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

/// A product of whole matrices of another type: `numbers` gives as many of them as an operand has.
template <class T>
auto other_product(const product& p) {
  const auto numbers = [](const float* from, std::size_t count) {
    std::vector<T> out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<T>(from[i]));
    return out;
  };
  return [p, a = numbers(p.a(), p.m * p.k), b = numbers(p.b(), p.k * p.n),
          c = std::vector<T>(p.m * p.n)](auto multiply_them) mutable -> const float* {
    multiply_them(a.data(), b.data(), c.data());
    return reinterpret_cast<const float*>(c.data());  // to keep it: results of other types are not compared
  };
}

template <class T>
void enter_kiln_of(const product& p, const std::string& type, const std::string& peer) {
  enter("gemm/" + type + "/" + p.name().substr(5), peer, 0, [p] {
    kiln::cpu::set_num_threads(p.threads);
    return [p, work = other_product<T>(p)]() mutable {
      return work([&p](const T* a, const T* b, T* c) {
        kiln::cpu::gemm<T>(length(p.m), length(p.n), length(p.k),
                           {a, p.a_transposed ? 1 : length(p.k), p.a_transposed ? length(p.m) : 1},
                           {b, p.b_transposed ? 1 : length(p.n), p.b_transposed ? length(p.k) : 1}, c, length(p.n));
      });
    };
  });
}

void enter_types(const product& p) {
#if defined(KILN_BENCH_OPENBLAS)
  const peers::openblas& blas = peers::openblas::get();
  enter("gemm/f64/" + p.name().substr(5), "openblas", 0, [p, &blas] {
    blas.set_num_threads(p.threads);
    return [p, &blas, work = other_product<double>(p)]() mutable {
      return work([&p, &blas](const double* a, const double* b, double* c) {
        const auto size = [](std::size_t count) { return static_cast<int>(count); };
        blas.dgemm(CblasRowMajor, p.a_transposed ? CblasTrans : CblasNoTrans,
                   p.b_transposed ? CblasTrans : CblasNoTrans, size(p.m), size(p.n), size(p.k), 1, a, size(p.lda()), b,
                   size(p.ldb()), 0, c, size(p.n));
      });
    };
  });
#endif
  enter_kiln_of<double>(p, "f64", "kiln");
  enter_kiln_of<float>(p, "half", "float");
  enter_kiln_of<kiln::half>(p, "half", "kiln");
  enter_kiln_of<float>(p, "bfloat16", "float");
  enter_kiln_of<kiln::bfloat16>(p, "bfloat16", "kiln");
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
                      {64, 256, 784, false, true, threads},   {256, 256, 256, false, true, threads},
                      {256, 256, 256, true, true, threads},   {1024, 1024, 1024, false, true, threads},
                      {1024, 1024, 1024, true, true, threads}};
    std::vector<product> all(std::begin(list), std::end(list));
    if (threads == 1) {
      for (const product& p : drawn_products(40)) all.push_back(p);
    }
    for (const product& p : all) {
      if (threads == 1) enter_eigen(p);
#if defined(KILN_BENCH_OPENBLAS)
      enter_openblas(p);
#endif
#if defined(KILN_BENCH_ONEDNN)
      enter_onednn(p);
#endif
#if __has_include(<kiln/device/cpu/products/gemm.hpp>)
      enter_kiln(p);
#endif
    }
#if __has_include(<kiln/device/cpu/products/gemm.hpp>)
    for (const std::size_t size : {256U, 512U, 1024U}) enter_types({size, size, size, false, false, threads});
    enter_types({64, 784, 256, false, false, threads});
    enter_types({64, 784, 256, false, true, threads});
    enter_epilogue({64, 784, 256, false, false, threads});
    enter_epilogue({1024, 1024, 1024, false, false, threads});
#endif
  }
  return true;
}();

}  // namespace
