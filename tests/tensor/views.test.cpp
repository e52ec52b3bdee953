// SPDX-License-Identifier: BSL-1.0
// Views against a model that lists, for each element of the view, the element of the base that it is; the model knows
// no strides. Gradients are the weights summed over that list.
#include <kiln/tensor/views.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/products.hpp>

using namespace kiln;

namespace {

using index = std::vector<std::int64_t>;

struct model {
  dims sizes;
  index at;  // which element of the base

  explicit model(const dims& s) : sizes(s) {
    for (std::int64_t i = 0; i < count(s); ++i) at.push_back(i);
  }
  // A new shape whose element at a position is the old one at `source(position)`.
  model mapped(const dims& s, const std::function<index(const index&)>& source) const {
    model m(s);
    for (auto& place : m.at) {
      index position(static_cast<std::size_t>(s.rank()));
      std::int64_t rest = place;
      for (int i = s.rank() - 1; i >= 0; --i) {
        position[static_cast<std::size_t>(i)] = rest % s[i];
        rest /= s[i];
      }
      const index from = source(position);
      std::int64_t flat = 0;
      for (int i = 0; i < sizes.rank(); ++i) flat = flat * sizes[i] + from[static_cast<std::size_t>(i)];
      place = at[static_cast<std::size_t>(flat)];
    }
    return m;
  }
  model reshaped(const dims& s) const {
    model m(*this);
    m.sizes = s;
    return m;
  }
};

template <class T>
struct both {
  Tensor<T> tensor;
  model expected;
};

std::mt19937 random_bits(17);
std::int64_t below(std::int64_t n) {
  return static_cast<std::int64_t>(random_bits() % static_cast<std::uint64_t>(n));
}
std::size_t u(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// One view chosen at random, made in both worlds.
template <class T>
void step(both<T>& x) {
  const dims s = x.expected.sizes;
  const int rank = s.rank();
  const std::int64_t axis = rank ? below(rank) : 0, other = rank ? below(rank) : 0;
  const int a = static_cast<int>(axis);
  const auto counted = [&](std::int64_t i) { return below(2) ? i : i - rank; };  // from the front or the back
  const auto without = [](index p, std::int64_t i) { return p.erase(p.begin() + i), p; };
  const auto with = [](index p, std::int64_t i, std::int64_t value) { return p.insert(p.begin() + i, value), p; };
  switch (below(10)) {
    case 0: {
      if (!rank) return;
      dims t = s;
      t[a] = s[static_cast<int>(other)], t[static_cast<int>(other)] = s[a];
      x.tensor = x.tensor.transpose(counted(axis), counted(other));
      x.expected = x.expected.mapped(t, [&](index p) { return std::swap(p[u(axis)], p[u(other)]), p; });
      return;
    }
    case 1: {
      dims order, t;
      for (int i = 0; i < rank; ++i) order.insert(static_cast<int>(below(i + 1)), i);
      for (int i = 0; i < rank; ++i) t.push_back(s[static_cast<int>(order[i])]);
      x.tensor = x.tensor.permute(order);
      x.expected = x.expected.mapped(t, [&](const index& p) {
        index from(p.size());
        for (int i = 0; i < rank; ++i) from[u(order[i])] = p[u(i)];
        return from;
      });
      return;
    }
    case 2: {
      if (!rank || s[a] == 0) return;
      const std::int64_t begin = below(s[a]), step = 1 + below(2), end = begin + below(s[a] + 2);
      dims t = s;
      t[a] = 0;
      for (std::int64_t i = begin; i < std::min(end, s[a]); i += step) ++t[a];
      if (t[a] == 0) return;
      x.tensor = x.tensor.slice(counted(axis), begin, end, step);
      x.expected = x.expected.mapped(t, [&](index p) { return p[u(axis)] = begin + step * p[u(axis)], p; });
      return;
    }
    case 3: {
      if (!rank || s[a] < 2) return;
      const std::int64_t begin = below(s[a]), length = 1 + below(s[a] - begin);
      dims t = s;
      t[a] = length;
      x.tensor = x.tensor.narrow(axis, begin, length);
      x.expected = x.expected.mapped(t, [&](index p) { return p[u(axis)] += begin, p; });
      return;
    }
    case 4: {
      if (rank < 2) return;
      const std::int64_t i = below(s[a]);
      dims t = s;
      t.erase(a);
      x.tensor = x.tensor.select(axis, below(2) ? i : i - s[a]);
      x.expected = x.expected.mapped(t, [&](const index& p) { return with(p, axis, i); });
      return;
    }
    case 5: {
      if (rank > 5) return;
      const std::int64_t i = below(rank + 1);
      dims t = s;
      t.insert(static_cast<int>(i), 1);
      x.tensor = x.tensor.unsqueeze(i);
      x.expected = x.expected.mapped(t, [&](const index& p) { return without(p, i); });
      return;
    }
    case 6: {
      dims t;
      for (std::int64_t n : s)
        if (n != 1) t.push_back(n);
      x.tensor = x.tensor.squeeze();
      x.expected = x.expected.reshaped(t);
      return;
    }
    case 7: {
      if (rank > 5 || count(s) > 500) return;
      dims t = s, asked = s;
      for (int i = 0; i < rank; ++i) {
        if (s[i] == 1)
          t[i] = asked[i] = 1 + below(3);
        else if (below(2))
          asked[i] = -1;
      }
      t.insert(0, 2), asked.insert(0, 2);
      x.tensor = x.tensor.expand(asked);
      x.expected = x.expected.mapped(t, [&](index p) {
        p = without(p, 0);
        for (int i = 0; i < rank; ++i)
          if (s[i] == 1) p[u(i)] = 0;
        return p;
      });
      return;
    }
    case 8: {
      if (rank < 2) return;
      const int i = static_cast<int>(below(rank - 1));
      dims t = s, asked;
      t[i] *= t[i + 1];
      t.erase(i + 1);
      asked = t;
      asked[i] = -1;
      x.tensor = below(2) ? x.tensor.reshape(asked) : x.tensor.flatten(i, i + 1);
      x.expected = x.expected.reshaped(t);
      return;
    }
    default: {
      if (rank < 2) return;
      std::vector<std::int64_t> order;
      for (int i = 0; i < rank; ++i) order.push_back(i);
      order.erase(order.begin() + axis);
      order.insert(order.begin() + other, axis);
      dims t;
      for (std::int64_t i : order) t.push_back(s[static_cast<int>(i)]);
      x.tensor = movedim(x.tensor, axis, other);
      x.expected = x.expected.mapped(t, [&](const index& p) {
        index from(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) from[u(order[i])] = p[i];
        return from;
      });
    }
  }
}

template <class T>
void check_chains(int rounds) {
  static const dims shapes[] = {{}, {7}, {4, 5}, {3, 1, 6}, {2, 3, 4}, {1, 1}, {5, 40}, {2, 3, 2, 3}};
  for (int round = 0; round < rounds; ++round) {
    const dims shape = shapes[below(8)];
    Tensor<T> base = arange<T>(count(shape)).reshape(shape).clone().detach();
    base.requires_grad();
    both<T> x{base, model(shape)};
    for (std::int64_t i = 1 + below(5); i > 0; --i) step(x);
    REQUIRE(x.tensor.sizes() == x.expected.sizes);
    const Tensor<T> values = x.tensor.clone();
    bool same = true;
    for (std::size_t i = 0; i < x.expected.at.size(); ++i)
      same &= static_cast<std::int64_t>(static_cast<double>(values.data()[i])) == x.expected.at[i];
    REQUIRE(same);
    // Small whole weights, so that sums are exact, but for the largest in half; two passes, which add up.
    Tensor<T> weights = empty<T>(x.tensor.sizes());
    std::vector<double> expected(u(count(shape)), 0.0);
    for (std::size_t i = 0; i < x.expected.at.size(); ++i) {
      const std::int64_t w = below(3);
      weights.data()[i] = static_cast<T>(static_cast<float>(w));
      expected[u(x.expected.at[i])] += 2 * static_cast<double>(w);
    }
    backward(sum(x.tensor * weights), {.retain_graph = true});
    backward(sum(weights * x.tensor));
    same = base.grad().sizes() == shape;
    const double exact = std::same_as<T, half> ? 2048 : 1e9;
    for (std::size_t i = 0; i < expected.size(); ++i)
      same &= std::abs(static_cast<double>(base.grad().data()[i]) - expected[i]) <=
              (expected[i] > exact ? expected[i] / 512 : 0);
    REQUIRE(same);
  }
}

}  // namespace

TEST_CASE("chains of views show and differentiate the elements of a plain list, in float") {
  check_chains<float>(2000);
}
TEST_CASE("chains of views show and differentiate the elements of a plain list, in double") {
  check_chains<double>(500);
}
TEST_CASE("chains of views show and differentiate the elements of a plain list, in half") {
  check_chains<half>(500);
}

TEST_CASE("views share memory, reshape copies only where it must") {
  Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  CHECK(x.reshape({3, 2}).data() == x.data());
  CHECK(x.t().reshape({6}).data() != x.data());
  CHECK(x.select(0, 1).data() == x.data() + 3);
  x.t()(2, 0) = 30;
  CHECK(x(0, 2) == 30);
  x.slice(1, 1).fill_(0);
  CHECK(x(1, 2) == 0);
  CHECK(x(1, 0) == 4);
  x.select(0, 0) += Tensor<float>{1, 2, 3};
  CHECK(x(0, 2) == 3);
}

TEST_CASE("a view keeps the memory when its base has gone") {
  auto last = [] {
    Tensor<double> x = arange<double>(10000);
    return x.slice(0, -2);
  }();
  CHECK(last(1) == 9999);
}

TEST_CASE("view refuses a copy and says what to use") {
  const Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  CHECK_THROWS_WITH_AS(x.t().view({6}),
                       "view: shape [3, 2] with strides [1, 3] cannot be seen as [6] without a copy: use reshape, "
                       "which copies where it must",
                       shape_error);
  CHECK(x.view({-1, 2}).sizes() == dims{3, 2});
  CHECK_THROWS_WITH_AS(x.reshape({4, 2}),
                       "reshape: shape [2, 3] has 6 elements, which do not fill [4, 2]: the product of the sizes must "
                       "stay the same; one of them "
                       "may be -1 and is worked out",
                       shape_error);
  CHECK_THROWS_AS(x.unsqueeze(0).t(), shape_error);
}

TEST_CASE("views of an expression evaluate it") {
  const Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  CHECK(transpose(x * 2, 0, 1)(2, 1) == 12);
  CHECK(swapaxes(x * 2, 0, -1)(2, 1) == 12);
  CHECK_THROWS_WITH_AS(swapaxes(x, 0, 2), "swapaxes: axis 2 is outside [-2, 1] of a tensor with 2 axes", index_error);
  CHECK(flatten(x + 1)(5) == 7);
  CHECK(select(x, 0, 1)(0) == 4);
  CHECK(squeeze(unsqueeze(x, 0), 0).sizes() == dims{2, 3});
  CHECK(squeeze(x, 0).sizes() == dims{2, 3});
  CHECK(broadcast_to(Tensor<float>{1, 2}, {3, 2})(2, 1) == 2);
  CHECK_THROWS_WITH_AS(broadcast_to(Tensor<float>{1, 2}, {3, 3}),
                       doctest::Contains("broadcast_to: shape [2] does not expand to [3, 3]"), shape_error);
  CHECK(view(x * 1, {6})(4) == 5);
  CHECK(narrow(x, 1, -1, 1)(1, 0) == 6);
}

TEST_CASE("t leaves tensors with fewer than two axes as they are") {
  CHECK(Tensor<float>{1, 2}.t().sizes() == dims{2});
  CHECK(Tensor<float>(3.0f).t().item() == 3);
}

TEST_CASE("empty tensors have views") {
  const Tensor<float> x = empty<float>({0, 3});
  CHECK(x.t().sizes() == dims{3, 0});
  CHECK(x.reshape({3, 0, 5}).sizes() == dims{3, 0, 5});
  CHECK(x.slice(1, 1).sizes() == dims{0, 2});
  CHECK(x.expand({2, 0, 3}).sizes() == dims{2, 0, 3});
  CHECK(x.flatten().sizes() == dims{0});
  Tensor<float> w{1, 2, 3};
  w.requires_grad();
  backward(sum(w.slice(0, 3)));
  CHECK(w.grad()(0) == 0);
}

TEST_CASE("gradients go through transposed operands of a product") {
  // d sum(C .* (A B)) / dA = C B^T, written out.
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{2, 3, 4}, std::array<std::int64_t, 3>{33, 20, 50}}) {
    Tensor<double> a = arange<double>(k * m).reshape({k, m}).clone().detach(),
                   b = Tensor<double>(reshape(arange<double>(n * k) * 0.5, {n, k}));
    a.requires_grad(), b.requires_grad();
    const Tensor<double> c = reshape(arange<double>(m * n) - 3, {m, n});
    backward(sum(matmul(a.t(), b.t()) * c));
    double worst = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t p = 0; p < k; ++p) {
        double expected = 0;
        for (std::int64_t j = 0; j < n; ++j) expected += c(i, j) * b(j, p);
        worst = std::max(worst, std::abs(a.grad()(p, i) - expected) / (1 + std::abs(expected)));
      }
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j) {
        double expected = 0;
        for (std::int64_t i = 0; i < m; ++i) expected += c(i, j) * a(p, i);
        worst = std::max(worst, std::abs(b.grad()(j, p) - expected) / (1 + std::abs(expected)));
      }
    CHECK(worst < 1e-13);
  }
}

TEST_CASE("gradients of slices that overlap add up") {
  Tensor<float> x{1, 2, 3, 4};
  x.requires_grad();
  backward(sum(x.slice(0, 0, 3) * x.slice(0, 1, 4)));  // x0 x1 + x1 x2 + x2 x3
  const float expected[] = {2, 1 + 3, 2 + 4, 3};
  for (int i = 0; i < 4; ++i) CHECK(x.grad()(i) == expected[i]);
}

TEST_CASE("gradients go through a view of a computed tensor, and through both it and its view") {
  Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  x.requires_grad();
  const Tensor<float> y = x * x;
  const Tensor<float> z = y.t() * 10;
  const Tensor<float> loss = sum(y) + sum(z.select(0, 1));  // sum x^2 + 10 (x01^2 + x11^2)
  backward(loss);
  CHECK(x.grad()(0, 0) == 2);
  CHECK(x.grad()(0, 1) == 4 + 40);
  CHECK(x.grad()(1, 1) == 10 + 100);
  CHECK(x.grad()(1, 2) == 12);
}

TEST_CASE("the gradient that a caller passed in is not changed by what is added to it") {
  Tensor<float> x{1, 2};
  x.requires_grad();
  const Tensor<float> v = x.reshape({2, 1});
  const Tensor<float> ones{{1}, {1}};
  backward(v, ones);
  backward(sum(x * 5));
  CHECK(ones(0, 0) == 1);
  CHECK(x.grad()(0) == 6);
}

TEST_CASE("a view of a leaf outlives a backward pass and an update of the leaf") {
  Tensor<float> w{{1, 2}, {3, 4}};
  w.requires_grad();
  const Tensor<float> wt = w.t();
  for (int i = 0; i < 3; ++i) {
    w.zero_grad();
    backward(sum(square(wt)));
    CHECK(w.grad()(0, 1) == 2 * w(0, 1));
    const no_grad quiet;
    w -= 0.25f * w.grad();
  }
  CHECK(wt(1, 0) == 0.25f);
}

TEST_CASE("no_grad makes views without history, needs_grad tells") {
  Tensor<float> w{1, 2};
  w.requires_grad();
  CHECK(w.slice(0, 1).needs_grad());
  CHECK_THROWS_AS(w.slice(0, 1).requires_grad(), graph_error);
  CHECK_FALSE(w.detach().slice(0, 1).needs_grad());
  const no_grad quiet;
  CHECK_FALSE(w.slice(0, 1).needs_grad());
  w.slice(0, 1).fill_(7);
  CHECK(w(1) == 7);
}

TEST_CASE("a view used before its base was overwritten keeps its gradient, used afterwards it has the new one") {
  Tensor<float> x{1, 2, 3};
  x.requires_grad();
  Tensor<float> y = x * 2;
  const Tensor<float> part = y.slice(0, 1), before = part + 1;
  y *= 3;
  backward(sum(before) + sum(part) * 10);
  CHECK(x.grad()(0) == 0);
  CHECK(x.grad()(1) == 2 + 60);
}

TEST_CASE("for (auto row : x): the views x[0], x[1] ..., through which x is written, and gradients flow") {
  Tensor<float> x{{1, 2}, {3, 4}, {5, 6}};
  x.requires_grad();
  Tensor<float> y = x * 1;
  float weight = 1;
  Tensor<float> all = zeros<float>({2});
  for (auto row : y) {
    CHECK(row.sizes() == dims{2});
    all = all + row * weight;
    weight *= 10;
  }
  backward(sum(all));
  CHECK(x.grad()(0, 1) == 1);
  CHECK(x.grad()(1, 0) == 10);
  CHECK(x.grad()(2, 1) == 100);

  Tensor<float> z{{1, 2}, {3, 4}};
  for (auto row : z) row += 10;
  for (const auto& row : z)
    for (auto element : row) element *= 2;
  CHECK(z(0, 0) == 22);
  CHECK(z(1, 1) == 28);
  float total = 0;
  for (auto element : sum(z, 1)) total += element.item();
  CHECK(total == 22 + 24 + 26 + 28);
  std::vector<Tensor<float>> rows(begin(z), end(z));
  CHECK(rows.size() == 2);
  CHECK(rows[1](0) == 26);
  for (auto row : zeros<float>({0, 3})) CHECK(row.dim() < 0);
  CHECK_THROWS_WITH_AS(
      [&] {
        for (auto element : sum(z)) element *= 2;
      }(),
      doctest::Contains("no axis to go along"), shape_error);
}

TEST_CASE("x[slice(1, 3)] is a range of the first axis, and free functions take sizes one by one") {
  const Tensor<float> x{{1, 2}, {3, 4}, {5, 6}};
  CHECK(x[slice(1, 3)].sizes() == dims{2, 2});
  CHECK(x[slice(1, 3)](0, 1) == 4);
  CHECK(permute(x, 1, 0)(1, 2) == 6);
  CHECK(view(x, 2, -1)(1, 0) == 4);
  CHECK(expand(x[0], 5, 2)(4, 1) == 2);
}
