// SPDX-License-Identifier: BSL-1.0
// Operands, and results written in place, that end exactly where no memory follows, and that begin where none comes
// before: kernels of each kind, run forward. (Backward: tests/autograd/guard_pages.test.cpp.)
#include <kiln/kiln.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/pool2d.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include "support/guarded.hpp"

using namespace kiln;
using support::edge, support::guarded, support::walk;

namespace {

template <class T>
void maps(const char* what) {
  walk(what, [](std::int64_t n, edge e) {
    Tensor<T> out = guarded<T>({n}, e);
    out.copy_(guarded<T>({n}, e) * guarded<T>({n}, e) + guarded<T>({1}, e));
    out += guarded<T>({n}, e);
  });
}

}  // namespace

TEST_CASE("guard pages: they are there") {
  CHECK(support::run_in_child([] {
          ::signal(SIGSEGV, SIG_DFL);
          volatile float* const end = guarded<float>({3}, edge::after).data() + 3;
          return *end > 0 ? 1 : 2;
        }) == -SIGSEGV);
}

TEST_CASE("guard pages: maps of every width, with broadcasts, in place") {
  maps<float>("float");
  maps<half>("half");
  maps<std::uint8_t>("uint8");
}

TEST_CASE("guard pages: maps over views, several types, and choices") {
  walk("transposed", [](std::int64_t n, edge e) {
    Tensor<float> out = guarded<float>({3, n}, e);
    out.copy_(transpose(guarded<float>({n, 3}, e), 0, 1) + guarded<float>({3, 1}, e));
  });
  walk("with gaps", [](std::int64_t n, edge e) {
    Tensor<float> out = guarded<float>({n}, e);
    out.copy_(guarded<float>({n}, {3}, 3 * n - 2, e) * 2.0f);
    guarded<float>({n}, {3}, 3 * n - 2, e).copy_(out);
  });
  walk("types", [](std::int64_t n, edge e) {
    Tensor<double> out = guarded<double>({n}, e);
    out.copy_(where(guarded<bool>({n}, e), guarded<bfloat16>({n}, e), guarded<std::int32_t>({n}, e)));
  });
}

TEST_CASE("guard pages: reductions and rows") {
  walk("all", [](std::int64_t n, edge e) { Tensor<float>(sum(guarded<float>({n}, e))); });
  walk("rows", [](std::int64_t n, edge e) { Tensor<float>(sum(guarded<float>({3, n}, e), 1)); });
  walk("short rows", [](std::int64_t n, edge e) { Tensor<float>(max(guarded<float>({n, 3}, e), 1)); });
  walk("columns", [](std::int64_t n, edge e) { Tensor<float>(sum(guarded<float>({5, n}, e), 0)); });
  walk("softmax", [](std::int64_t n, edge e) {
    Tensor<float> out = guarded<float>({3, n}, e);
    out.copy_(softmax(guarded<float>({3, n}, e), 1));
  });
  walk("argmax", [](std::int64_t n, edge e) { argmax(guarded<float>({3, n}, e), 1).eval(); });
  walk("in order", [](std::int64_t n, edge e) { sort(guarded<float>({3, n}, e), 1); });
  walk("running", [](std::int64_t n, edge e) {
    cumsum(guarded<float>({3, n}, e), 1);
    cumsum(guarded<float>({n, 3}, e), 0);
    cumsum(guarded<float>({3, n}, e), 0);
  });
}

TEST_CASE("guard pages: products of every orientation") {
  const auto products = [](auto zero, const char* what) {
    using T = decltype(zero);
    walk(what, [](std::int64_t n, edge e) {
      const std::int64_t k = n > 200 ? 9 : n;
      for (int turn = 0; turn < 4; ++turn) {
        const Tensor<T> a = turn % 2 == 0 ? guarded<T>({n, k}, e) : transpose(guarded<T>({k, n}, e), 0, 1),
                        b = turn < 2 ? guarded<T>({k, n + 1}, e) : transpose(guarded<T>({n + 1, k}, e), 0, 1);
        Tensor<T> product = matmul(a, b);
        Tensor<T> column = matmul(a, guarded<T>({k}, e));
        Tensor<T> row = matmul(guarded<T>({k}, e), b);
      }
    });
  };
  products(float{}, "float");
  products(half{}, "half");
}

TEST_CASE("guard pages: convolutions, poolings, indexing, joining") {
  walk("conv2d", [](std::int64_t n, edge e) {
    const std::int64_t side = n > 40 ? 5 : n + 2;
    conv2d(guarded<float>({2, 3, side, side}, e), guarded<float>({4, 3, 3, 3}, e), guarded<float>({4}, e));
    conv2d(guarded<float>({2, 3, side, side}, e), guarded<float>({4, 3, 3, 3}, e),
           conv2d_options{.stride = 2, .padding = 1});
  });
  walk("pooling", [](std::int64_t n, edge e) {
    const std::int64_t side = n > 40 ? 5 : n + 2;
    max_pool2d(guarded<float>({2, 3, side, side}, e), 2);
    avg_pool2d(guarded<float>({2, 3, side, side}, e), 3);
  });
  walk("indexing", [](std::int64_t n, edge e) {
    Tensor<std::int64_t> index = guarded<std::int64_t>({3}, e);
    index.copy_(index * 0 + (n - 1));
    Tensor<float> rows = index_select(guarded<float>({n, 3}, e), 0, index);
    Tensor<float> columns = index_select(guarded<float>({3, n}, e), 1, index);
    Tensor<float> sums = index_add(guarded<float>({n, 3}, e), 0, index, guarded<float>({3, 3}, e));
  });
  walk("joining", [](std::int64_t n, edge e) {
    Tensor<float> joined = cat({guarded<float>({3, n}, e), guarded<float>({3, 1}, e)}, 1);
  });
}
