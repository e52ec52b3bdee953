// SPDX-License-Identifier: BSL-1.0
// Guard pages around what no expression has compiled: kernels of the interpreter, as the suite builds this file
// (KILN_INTERPRET), and those that are in every program: gather and scatter, stacks of products, attention.
#include <kiln/kiln.hpp>
#include <kiln/nn/functional/attention.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include "support/guarded.hpp"

using namespace kiln;
using support::edge, support::guarded, support::walk;

namespace {

// Each its own type, so that the tape of each is interpreted for it.
template <class T>
void maps(const char* what) {
  walk(what, [](std::int64_t n, edge e) {
    Tensor<T> out = guarded<T>({n}, e);
    out.copy_(guarded<T>({n}, e) * guarded<T>({n}, e) + guarded<T>({1}, e));
    out -= guarded<T>({n}, e) * T(2);
  });
}

// One number per place, all of them good.
Tensor<std::int64_t> places(const dims& sizes, std::int64_t most, edge e) {
  Tensor<std::int64_t> index = guarded<std::int64_t>(sizes, e);
  std::int64_t* const at = index.data();
  for (std::int64_t i = 0; i < index.numel(); ++i) at[i] = (i * 5 + most - 1) % most;
  return index;
}

}  // namespace

TEST_CASE("guard pages: interpreted maps, in every type and over views") {
  maps<float>("float");
  maps<double>("double");
  maps<half>("half");
  maps<bfloat16>("bfloat16");
  maps<std::int8_t>("int8");
  maps<std::int16_t>("int16");
  maps<std::int64_t>("int64");
  walk("types", [](std::int64_t n, edge e) {
    Tensor<double> out = guarded<double>({n}, e);
    out.copy_(where(guarded<bool>({n}, e), exp(guarded<bfloat16>({n}, e)), guarded<std::int32_t>({n}, e)));
    guarded<bool>({n}, e).copy_(out > 3.0);
  });
  walk("turned, with gaps, broadcast", [](std::int64_t n, edge e) {
    Tensor<float> out = guarded<float>({3, n}, e);
    out.copy_(transpose(guarded<float>({n, 3}, e), 0, 1) + guarded<float>({3, 1}, e) * guarded<float>({n}, e));
    guarded<float>({3, n}, {3 * n, 3}, 9 * n - 2, e).copy_(out);
  });
}

TEST_CASE("guard pages: interpreted rows, columns, and rows in pieces") {
  walk("rows", [](std::int64_t n, edge e) {
    const Tensor<float> x = guarded<float>({3, n}, e);
    Tensor<float> out = guarded<float>({3, n}, e), one = guarded<float>({3}, e);
    out.copy_(softmax(x, 1) * x);
    out.copy_((x - mean(x, 1, true)) / sqrt(var(x, 1, true) + 1.0f));
    one.copy_(max(x, 1));
    one.copy_(sum(guarded<float>({3, n}, {3 * n, 3}, 9 * n - 2, e), 1));
  });
  walk("columns", [](std::int64_t n, edge e) {
    Tensor<float> out = guarded<float>({n}, e), many = guarded<float>({5, n}, e);
    out.copy_(sum(many, 0));
    out.copy_(prod(transpose(guarded<float>({n, 2}, e), 0, 1), 0));
    many.copy_(softmax(guarded<float>({5, n}, e), 0));
  });
  walk("of halves", [](std::int64_t n, edge e) {
    Tensor<half> out = guarded<half>({3}, e);
    out.copy_(sum(guarded<half>({3, n}, e), 1));
  });
}

TEST_CASE("guard pages: gather and scatter along either axis, masks") {
  walk("gather", [](std::int64_t n, edge e) {
    const Tensor<float> x = guarded<float>({n, 3}, e), wide = guarded<float>({3, n}, e);
    Tensor<float> a = gather(x, 0, places({2, 3}, n, e)), b = gather(wide, 1, places({3, 2}, n, e));
    Tensor<half> c = gather(guarded<half>({n}, e), 0, places({n}, n, e));
  });
  walk("scatter", [](std::int64_t n, edge e) {
    const Tensor<float> x = guarded<float>({n, 3}, e), wide = guarded<float>({3, n}, e);
    Tensor<float> a = scatter_add(x, 0, places({2, 3}, n, e), guarded<float>({2, 3}, e)),
                  b = scatter_add(wide, 1, places({3, 2}, n, e), guarded<float>({3, 2}, e)),
                  c = scatter(wide, 1, places({3, 2}, n, e), guarded<float>({3, 2}, e));
  });
  walk("masks", [](std::int64_t n, edge e) {
    const Tensor<bool> mask = guarded<bool>({n}, e);
    Tensor<float> some = masked_select(guarded<float>({n}, e), mask), filled = masked_fill(some, mask, 1.0f);
    Tensor<float> lower = tril(guarded<float>({3, n}, e));
  });
}

TEST_CASE("guard pages: stacks of products, of every type") {
  const auto products = [](auto zero, const char* what) {
    using T = decltype(zero);
    walk(what, [](std::int64_t n, edge e) {
      const std::int64_t m = n > 200 ? 9 : n;
      for (int turn = 0; turn < 4; ++turn) {
        const Tensor<T> a =
                            turn % 2 == 0 ? guarded<T>({2, 3, m}, e) : transpose(guarded<T>({2, m, 3}, e), 1, 2),
                        b = turn < 2 ? guarded<T>({2, m, n}, e) : transpose(guarded<T>({2, n, m}, e), 1, 2);
        Tensor<T> all = guarded<T>({2, 3, n}, e);
        all.copy_(matmul(a, b));
      }
    });
  };
  products(float{}, "float");
  products(double{}, "double");
  products(bfloat16{}, "bfloat16");
  products(std::int32_t{}, "int32");
}

TEST_CASE("guard pages: attention and its gradients, with masks of each kind") {
  for (int kind = 0; kind < 4; ++kind)
    walk("attention", [kind](std::int64_t n, edge e) {
      const std::int64_t keys = n > 200 ? 70 : n, width = n % 17 + 1;
      Tensor<float> q = guarded<float>({2, 5, width}, e), k = guarded<float>({2, keys, width}, e),
                    v = guarded<float>({2, keys, 3}, e);
      for (Tensor<float>* t : {&q, &k, &v}) t->requires_grad();
      scaled_attention_options<float, Cpu> options;
      options.causal = kind == 1;
      if (kind == 2) options.mask.added = guarded<float>({5, keys}, e);
      if (kind == 3) options.mask.allowed = guarded<bool>({5, keys}, e);
      const Tensor<float> y = scaled_dot_product_attention(q, k, v, options);
      backward(y, guarded<float>({2, 5, 3}, e));
    });
}
