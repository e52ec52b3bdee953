// SPDX-License-Identifier: BSL-1.0
// Products of tensors as a user writes them (gemm.cpp has the bare routine): squares, a training step's shape, a
// transposed operand, a batch, beside Eigen and OpenBLAS called directly; and relu(matmul(x, w) + b) beside matmul(x,
// w).
#include "../peers/contest.hpp"
#include "../peers/torch.hpp"

#include <Eigen/Core>

#include <string>

#if defined(KILN_BENCH_OPENBLAS)
#include "../peers/openblas.hpp"
#endif
#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

using contest::buffer;
using contest::enter;
using contest::random;
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// `batches` products of m x k and k x n; the second operand is stored as n x k if `transposed`.
struct shape {
  std::string name;
  std::size_t m, k, n;
  std::size_t batches = 1;
  bool transposed = false;

  std::size_t results() const { return batches * m * n; }
  const float* a() const { return random("a", batches * m * k); }
  const float* b() const { return random("b", batches * k * n); }
};

void direct_contests(const shape& s) {
  const std::string work = "products/" + s.name;
  enter(work, "eigen", s.results(), [s] {
    return [s, a = s.a(), b = s.b(), c = buffer("c", s.results())]() -> const float* {
      const auto m = static_cast<Eigen::Index>(s.m), k = static_cast<Eigen::Index>(s.k);
      const auto n = static_cast<Eigen::Index>(s.n);
      for (std::size_t i = 0; i < s.batches; ++i) {
        const Eigen::Map<const matrix> left(a + i * s.m * s.k, m, k);
        const Eigen::Map<const matrix> right(b + i * s.k * s.n, s.transposed ? n : k, s.transposed ? k : n);
        Eigen::Map<matrix> to(c + i * s.m * s.n, m, n);
        if (s.transposed)
          to.noalias() = left * right.transpose();
        else
          to.noalias() = left * right;
      }
      return c;
    };
  });
#if defined(KILN_BENCH_OPENBLAS)
  const peers::openblas& blas = peers::openblas::get();
  enter(work, "openblas", s.results(), [s, &blas] {
    blas.set_num_threads(1);
    return [s, &blas, a = s.a(), b = s.b(), c = buffer("c", s.results())]() -> const float* {
      const auto size = [](std::size_t count) { return static_cast<int>(count); };
      for (std::size_t i = 0; i < s.batches; ++i)
        blas.sgemm(CblasRowMajor, CblasNoTrans, s.transposed ? CblasTrans : CblasNoTrans, size(s.m), size(s.n),
                   size(s.k), 1, a + i * s.m * s.k, size(s.k), b + i * s.k * s.n, size(s.transposed ? s.k : s.n), 0,
                   c + i * s.m * s.n, size(s.n));
      return c;
    };
  });
#endif
  if (peers::torch_found() && s.batches == 1 && !s.transposed)
    enter(work, "torch", s.results(), [s] { return peers::torch_matmul(s.a(), s.b(), s.m, s.k, s.n); });
}

#if __has_include(<kiln/kiln.hpp>)
void kiln_contests(const shape& s) {
  enter("products/" + s.name, "kiln", s.results(), [s] {
    const std::vector<std::size_t> left = {s.m, s.k},
                                   right = s.transposed ? std::vector{s.n, s.k} : std::vector{s.k, s.n};
    const auto batched = [&](std::vector<std::size_t> sizes) {
      if (s.batches > 1) sizes.insert(sizes.begin(), s.batches);
      return sizes;
    };
    return [s, a = peers::tensor(s.a(), batched(left)), b = peers::tensor(s.b(), batched(right)),
            y = peers::result(batched({s.m, s.n}))]() mutable {
      if (s.transposed)
        y = matmul(a, transpose(b, -1, -2));
      else
        y = matmul(a, b);
      return peers::data(y);
    };
  });
}

/// What relu and a bias add to the product; the two results differ, so neither is compared.
void epilogue_contests(std::size_t m, std::size_t k, std::size_t n) {
  const std::string work =
      "products/relu_bias_" + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
  const auto operands = [=](auto f) {
    return [=] {
      return [f, x = peers::tensor(random("a", m * k), {m, k}), w = peers::tensor(random("b", k * n), {k, n}),
              b = peers::tensor(random("bias", n), {n}), y = peers::result({m, n})]() mutable {
        y = f(x, w, b);
        return peers::data(y);
      };
    };
  };
  enter(work, "bare", 0, operands([](const auto& x, const auto& w, const auto&) { return matmul(x, w); }));
  enter(work, "kiln", 0, operands([](const auto& x, const auto& w, const auto& b) { return relu(matmul(x, w) + b); }));
}
#endif

[[maybe_unused]] const bool registered = [] {
  for (const shape& s :
       {shape{"256x256x256", 256, 256, 256}, shape{"1024x1024x1024", 1024, 1024, 1024},
        shape{"2048x2048x2048", 2048, 2048, 2048}, shape{"64x784x256", 64, 784, 256},
        shape{"64x784x256_transposed", 64, 784, 256, 1, true}, shape{"batch_of_32_128x64x128", 128, 64, 128, 32}}) {
    direct_contests(s);
#if __has_include(<kiln/kiln.hpp>)
    kiln_contests(s);
#endif
  }
#if __has_include(<kiln/kiln.hpp>)
  epilogue_contests(64, 784, 256);
  epilogue_contests(1024, 1024, 1024);
#endif
  return true;
}();

}  // namespace
