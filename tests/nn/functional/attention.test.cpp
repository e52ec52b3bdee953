// SPDX-License-Identifier: BSL-1.0
// scaled_dot_product_attention against sums written out in double, forward and backward, over more than one block of
// queries and keys; and what it holds in memory.
#include <kiln/nn/functional/attention.hpp>

#include <kiln/autograd/create_graph.hpp>
#include <kiln/device/cpu/simd/memory.hpp>
#include <kiln/kiln.hpp>

#include <doctest/doctest.h>

#include <support/sanitized.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

using namespace kiln;

namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

/// What is computed of one matrix of each: the result, and for the gradient g of it those of q, k and v.
struct reference {
  std::int64_t l, s, e, n;
  std::vector<double> q, k, v, g, y{}, dq{}, dk{}, dv{};
  /// `see(i, j)` is added to a score, `keep(i, j)` multiplies a weight.
  void run(double scale, const std::function<double(std::int64_t, std::int64_t)>& see,
           const std::function<double(std::int64_t, std::int64_t)>& keep) {
    const auto at = [](const std::vector<double>& m, std::int64_t r, std::int64_t width, std::int64_t c) {
      return m[static_cast<std::size_t>(r * width + c)];
    };
    y.assign(static_cast<std::size_t>(l * n), 0), dq.assign(static_cast<std::size_t>(l * e), 0);
    dk.assign(static_cast<std::size_t>(s * e), 0), dv.assign(static_cast<std::size_t>(s * n), 0);
    for (std::int64_t i = 0; i < l; ++i) {
      std::vector<double> p(static_cast<std::size_t>(s)), slope(p.size());
      double most = nothing, sum = 0, common = 0;
      for (std::int64_t j = 0; j < s; ++j) {
        double score = 0;
        for (std::int64_t c = 0; c < e; ++c) score += at(q, i, e, c) * at(k, j, e, c);
        p[static_cast<std::size_t>(j)] = score * scale + see(i, j);
        most = std::max(most, p[static_cast<std::size_t>(j)]);
      }
      if (most == nothing) continue;
      for (double& x : p) sum += x = std::exp(x - most);
      for (std::int64_t j = 0; j < s; ++j) {
        const std::size_t here = static_cast<std::size_t>(j);
        p[here] /= sum;
        for (std::int64_t c = 0; c < n; ++c) {
          y[static_cast<std::size_t>(i * n + c)] += keep(i, j) * p[here] * at(v, j, n, c);
          dv[static_cast<std::size_t>(j * n + c)] += keep(i, j) * p[here] * at(g, i, n, c);
          slope[here] += keep(i, j) * at(g, i, n, c) * at(v, j, n, c);
        }
        common += p[here] * slope[here];
      }
      for (std::int64_t j = 0; j < s; ++j)
        for (std::int64_t c = 0; c < e; ++c) {
          const double d = p[static_cast<std::size_t>(j)] * (slope[static_cast<std::size_t>(j)] - common) * scale;
          dq[static_cast<std::size_t>(i * e + c)] += d * at(k, j, e, c);
          dk[static_cast<std::size_t>(j * e + c)] += d * at(q, i, e, c);
        }
    }
  }
};

template <class T>
std::vector<double> matrix(const Tensor<T>& x, std::int64_t i) {
  const Tensor<double> m = cast<double>(x.detach().reshape({-1, x.size(-2), x.size(-1)}).select(0, i));
  return {m.span().begin(), m.span().end()};
}
double far(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::isnan(a[i]) ? 1e300 : std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i])));
  return worst;
}

/// The worst difference of results and gradients, of (batch, heads, L, E), (.., S, E) and (.., S, N), taken from stacks
/// (batch, time, heads, width) as layers have them.
template <class T>
double difference(std::int64_t batch, std::int64_t heads, std::int64_t l, std::int64_t s, std::int64_t e,
                  std::int64_t n, const scaled_attention_options<T, Cpu>& options,
                  const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& see) {
  Tensor<T> q0 = randn<T>({batch, l, heads, e}), k0 = randn<T>({batch, s, heads, e}),
            v0 = randn<T>({batch, s, heads, n});
  q0.requires_grad(), k0.requires_grad(), v0.requires_grad();
  const Tensor<T> q = q0.transpose(1, 2), k = k0.transpose(1, 2), v = v0.transpose(1, 2),
                  g = randn<T>({batch, heads, l, n});
  const Tensor<T> y = scaled_dot_product_attention(q, k, v, options);
  backward(y, g);
  const Tensor<T> dq = q0.grad().transpose(1, 2).clone(), dk = k0.grad().transpose(1, 2).clone(),
                  dv = v0.grad().transpose(1, 2).clone();
  double worst = 0;
  for (std::int64_t i = 0; i < batch * heads; ++i) {
    reference r{l,
                s,
                e,
                n,
                matrix(Tensor<T>(q.clone()), i),
                matrix(Tensor<T>(k.clone()), i),
                matrix(Tensor<T>(v.clone()), i),
                matrix(g, i)};
    r.run(
        options.scale ? *options.scale : 1 / std::sqrt(static_cast<double>(e)),
        [&](std::int64_t a, std::int64_t b) { return see(i, a, b); }, [](std::int64_t, std::int64_t) { return 1.0; });
    worst = std::max(
        {worst, far(matrix(y, i), r.y), far(matrix(dq, i), r.dq), far(matrix(dk, i), r.dk), far(matrix(dv, i), r.dv)});
  }
  return worst;
}
double everything(std::int64_t, std::int64_t, std::int64_t) {
  return 0;
}
double earlier(std::int64_t, std::int64_t q, std::int64_t k) {
  return k <= q ? 0 : nothing;
}

}  // namespace

TEST_CASE("attention: values and gradients, over several blocks and parts of them") {
  manual_seed(1);
  CHECK(difference<double>(2, 2, 5, 7, 3, 4, {}, everything) < 1e-13);
  CHECK(difference<double>(1, 2, 150, 270, 8, 5, {}, everything) < 1e-12);
  CHECK(difference<double>(3, 3, 65, 129, 4, 4, {.scale = 0.7}, everything) < 1e-12);
  CHECK(difference<float>(1, 2, 150, 270, 8, 5, {}, everything) < 2e-5);
}

TEST_CASE("attention: causal, of equal lengths, of more keys and of more queries") {
  manual_seed(2);
  CHECK(difference<double>(1, 2, 140, 140, 4, 4, {.causal = true}, earlier) < 1e-12);
  CHECK(difference<double>(1, 1, 70, 200, 4, 4, {.causal = true}, earlier) < 1e-12);
  CHECK(difference<double>(3, 3, 200, 70, 4, 4, {.causal = true}, earlier) < 1e-12);
}

TEST_CASE("attention: masks of numbers and of truth values broadcast; who sees nothing gets zeros") {
  manual_seed(3);
  const Tensor<double> slopes = arange<double>(9).reshape({1, 1, 1, 9}) * -0.5;
  CHECK(difference<double>(2, 2, 6, 9, 3, 3, {.mask = slopes},
                           [](std::int64_t, std::int64_t, std::int64_t k) { return -0.5 * double(k); }) < 1e-13);
  // Keys that are padding, for each of two in the batch; the second sees none at all.
  Tensor<bool> seen = zeros<bool>({2, 1, 1, 9});
  for (int k = 0; k < 4; ++k) seen.data()[k] = true;
  CHECK(difference<double>(2, 2, 6, 9, 3, 3, {.mask = seen}, [](std::int64_t i, std::int64_t, std::int64_t k) {
          return i < 2 && k < 4 ? 0 : nothing;
        }) < 1e-13);
  const Tensor<double> x = randn<double>({2, 1, 6, 3}), v = randn<double>({2, 1, 9, 3});
  const Tensor<double> y = scaled_dot_product_attention(x, v, v, {.mask = seen});
  CHECK(sum(abs(y.select(0, 1))).eval().item() == 0);
  // Queries and masks may still have to be computed.
  const Tensor<double> twice = scaled_dot_product_attention(x * 2.0, v, v, {.mask = seen | !seen, .scale = 0.5});
  const Tensor<double> lean = scaled_dot_product_attention(x, v, v, {.mask = zeros<double>({9}) + 1.0, .scale = 1});
  CHECK(allclose(twice, lean, 1e-13, 1e-13));
}

TEST_CASE("attention: dropout drops whole weights, the same ones backward, and makes up for them") {
  manual_seed(4);
  const std::int64_t l = 80, s = 150;
  Tensor<double> q = zeros<double>({l, 2}), k = zeros<double>({s, 2}), v = eye<double>(s);
  v.requires_grad();
  // All weights are 1 / s: the result is the mask of what was kept.
  const Tensor<double> y = scaled_dot_product_attention(q, k, v, {.dropout = 0.25});
  std::int64_t dropped = 0;
  for (const double x : y.span()) {
    const bool none = x == 0;
    dropped += none;
    if (!none) CHECK(x == doctest::Approx(1 / 0.75 / double(s)));
  }
  CHECK(std::abs(double(dropped) / double(l * s) - 0.25) < 0.02);
  const Tensor<double> g = randn<double>({l, s});
  backward(y, g);
  const Tensor<double> wanted = matmul(transpose(y.detach()), g);
  CHECK(allclose(v.grad(), wanted, 1e-12, 1e-12));
  const Tensor<double> none = scaled_dot_product_attention(q, k, v, {.dropout = 1});
  CHECK(sum(abs(none)).eval().item() == 0);
}

TEST_CASE("attention: the same bits on any number of threads") {
  const auto run = [](std::int64_t matrices, int threads) {
    manual_seed(7);
    set_num_threads(threads);
    Tensor<float> q = randn<float>({matrices, 150, 8}), k = randn<float>({matrices, 270, 8});
    q.requires_grad(), k.requires_grad();
    const Tensor<float> y = scaled_dot_product_attention(q, k, k, {.dropout = 0.1});
    backward(sum(square(y)));
    return std::vector{y.detach(), q.grad(), k.grad()};
  };
  const int before = num_threads();
  for (const std::int64_t matrices : {2, 9}) {
    const auto alone = run(matrices, 1);
    for (const int threads : {2, 3}) {
      if (test::sanitized && threads == 2) continue;
      const auto together = run(matrices, threads);
      for (std::size_t i = 0; i < 3; ++i) CHECK(equal(alone[i], together[i]));
    }
  }
  set_num_threads(before);
}

TEST_CASE("attention: half types compute in float") {
  manual_seed(5);
  const Tensor<float> q = randn<float>({2, 5, 4}), k = randn<float>({2, 6, 4});
  const Tensor<bfloat16> a = cast<bfloat16>(q), b = cast<bfloat16>(k);
  const Tensor<bfloat16> y = scaled_dot_product_attention(a, b, b);
  const Tensor<float> a1 = cast<float>(a), b1 = cast<float>(b);
  CHECK(allclose(Tensor<float>(cast<float>(y)), scaled_dot_product_attention(a1, b1, b1), 1e-2, 1e-2));
}

TEST_CASE("attention: memory grows with the length, not with its square") {
  const auto step = [](std::int64_t length) {
    Tensor<float> q = randn<float>({length, 8});
    q.requires_grad();
    backward(sum(scaled_dot_product_attention(q, q, q)));
  };
  step(64);
  const std::size_t before = cpu::memory_stats().peak;
  step(test::sanitized ? 1024 : 2048);
  // Of the scores, 16 MiB (4 MiB), nothing was ever there: operands, result and gradients have 64 KiB each.
  CHECK(cpu::memory_stats().peak - before < std::size_t{test::sanitized ? 1 : 2} << 20);
}

TEST_CASE("attention: the composition for other devices gives the same") {
  manual_seed(6);
  const Tensor<double> q = randn<double>({2, 5, 4}), k = randn<double>({2, 7, 4}), v = randn<double>({2, 7, 3});
  const Tensor<bool> seen{true, true, false, true, false, true, true};
  const scaled_attention_options<double, Cpu> how{.causal = true, .mask = seen};
  CHECK(allclose(detail::composed_attention(q, k, v, how, 0.5),
                 scaled_dot_product_attention(q, k, v, {.causal = true, .mask = seen, .scale = 0.5}), 1e-13, 1e-13));
}

TEST_CASE("attention: a scale of 0 or below, also where keys fill no vector") {
  const Tensor<float> q = rand<float>({3, 4}), k = rand<float>({5, 4}), v = rand<float>({5, 2});
  for (const double scale : {0.0, -0.75}) {
    const Tensor<float> y = scaled_dot_product_attention(q, k, v, {.scale = scale});
    for (int i = 0; i < 3; ++i) {
      double weights[5], total = 0;
      for (int j = 0; j < 5; ++j) {
        double score = 0;
        for (int c = 0; c < 4; ++c) score += static_cast<double>(q(i, c)) * static_cast<double>(k(j, c));
        total += weights[j] = std::exp(scale * score);
      }
      for (int c = 0; c < 2; ++c) {
        double want = 0;
        for (int j = 0; j < 5; ++j) want += weights[j] / total * static_cast<double>(v(j, c));
        CHECK(std::abs(static_cast<double>(y(i, c)) - want) < 1e-5);
      }
    }
    Tensor<float> x = rand<float>({5, 4});
    x.requires_grad();
    backward(sum(scaled_dot_product_attention(x, x, x, {.causal = true, .scale = scale})));
    for (int i = 0; i < 20; ++i) CHECK(std::isfinite(x.grad().data()[i]));
  }
}
TEST_CASE("attention: nothing to ask, nothing to see, nothing to mix") {
  Tensor<float> q = ones<float>({2, 5, 4}), k = ones<float>({2, 0, 4}), v = ones<float>({2, 0, 3});
  q.requires_grad(), v.requires_grad();
  const Tensor<float> y = scaled_dot_product_attention(q, k, v, {.causal = true, .dropout = 0.5});
  CHECK(y.sizes() == dims{2, 5, 3});
  CHECK(sum(abs(y)).eval().item() == 0);
  backward(sum(y));
  CHECK(sum(abs(q.grad())).eval().item() == 0);
  CHECK(v.grad().sizes() == dims{2, 0, 3});
  CHECK(scaled_dot_product_attention(ones<float>({2, 0, 4}), q, q).sizes() == dims{2, 0, 4});
  CHECK(scaled_dot_product_attention(ones<float>({0, 3, 4}), ones<float>({0, 2, 4}), ones<float>({0, 2, 1})).sizes() ==
        dims{0, 3, 1});
  CHECK(scaled_dot_product_attention(q, q, ones<float>({2, 5, 0})).sizes() == dims{2, 5, 0});
}

TEST_CASE("attention: what is refused") {
  const Tensor<float> q = ones<float>({2, 5, 4}), k = ones<float>({2, 6, 3}), v = ones<float>({2, 6, 4});
  CHECK_THROWS_WITH_AS(
      scaled_dot_product_attention(q, k, k),
      "scaled_dot_product_attention: queries of shape [2, 5, 4], keys of [2, 6, 3] and values of [2, 6, "
      "3]: they must be (..., queries, width), (..., keys, width) and (..., keys, value width), with "
      "the same axes in front",
      shape_error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, v, ones<float>({3, 6, 4})), shape_error);
  CHECK_THROWS_AS(scaled_dot_product_attention(ones<float>({4}), ones<float>({4}), ones<float>({4})), shape_error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, v, v, {.mask = ones<float>({4})}), shape_error);
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(q, v, v, {.dropout = 1.5}),
                       "scaled_dot_product_attention: a dropout of 1.5: use one from 0 to 1", value_error);
  Tensor<float> mask = zeros<float>({5, 6});
  mask.requires_grad();
  CHECK_THROWS_AS(scaled_dot_product_attention(q, v, v, {.mask = mask}), graph_error);
  Tensor<float> x = ones<float>({3, 2});
  x.requires_grad();
  const Tensor<float> y = sum(scaled_dot_product_attention(x, x, x));
  CHECK_THROWS_WITH_AS(grad(y, x, {.create_graph = true}),
                       "create_graph: scaled_dot_product_attention has no second derivative: call backward() without "
                       "create_graph, or detach() what goes into it",
                       graph_error);
}
