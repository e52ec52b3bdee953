// SPDX-License-Identifier: BSL-1.0
// vmap against JAX's (stored.hpp), and against the function called member by member.
#include <kiln/transform/vmap.hpp>

#include <kiln/expr/members.hpp>
#include <kiln/transform/gradient.hpp>
#include <kiln/transform/jacobian.hpp>
#include <kiln/transform/jvp.hpp>

#include "agree.hpp"
#include "stored.hpp"

using namespace kiln;

namespace {

constexpr auto loss = [](const auto& w, const auto& x, const auto& y) {
  const auto z = detail::as_tensor(matmul(x, w));
  return mean(square(tanh(z) - y)) + logsumexp(z);
};

const Tensor<double> weights = values(8, 7, 3, 17).reshape({4, 2});
const Tensor<double> xs = values(12, 5, 2, 13).reshape({3, 4});
const Tensor<double> ys = values(6, 3, 1, 7).reshape({3, 2});

// f of each x.select(0, i), stacked.
template <class F>
Tensor<double> one_by_one(F f, const Tensor<double>& x) {
  std::vector<Tensor<double>> results;
  for (std::int64_t i = 0; i < x.size(0); ++i) results.push_back(Tensor<double>(f(x.select(0, i))));
  return stack(results);
}
template <class F>
void check_members(F f, const Tensor<double>& x) {
  const Tensor<double> want = one_by_one(f, x);
  check_agrees(vmap(f)(x), want);
  check_agrees(vmap(f, -1)(movedim(x, 0, -1)), want);
  check_agrees(movedim(Tensor<double>(vmap(f, 0, -1)(x)), -1, 0), want);
}

}  // namespace

TEST_CASE("vmap: of gradients and hessians, one for each member") {
  const std::tuple each{unmapped, 0, 0};
  check_agrees(vmap(grad(loss), each)(weights, xs, ys), stored::loss_by_w);
  check_agrees(vmap(grad<1>(loss), each)(weights, xs, ys), stored::loss_by_x);
  const auto second = [](const auto& w, const auto& x, const auto& y) {
    return hessian([&](const auto& at) { return loss(w, at, y); })(x);
  };
  check_agrees(vmap(second, each)(weights, xs, ys), stored::loss_hessians);
}

TEST_CASE("vmap: within vmap, with axes in and out") {
  const auto inner = [](const auto& w, const auto& x, const auto& y) {
    return vmap(loss, std::tuple{unmapped, 0, unmapped})(w, x, y);
  };
  const auto pairs = vmap(inner, std::tuple{unmapped, unmapped, 0}, 1);
  const Tensor<double> got = pairs(weights, xs, ys);
  CHECK(got.sizes() == dims{3, 3});
  check_agrees(got, stored::loss_of_pairs);
}

TEST_CASE("vmap: elementwise ops and reductions of every alignment") {
  const Tensor<double> x = values(24, 7, 5, 23).reshape({2, 3, 4});
  const Tensor<double> row = values(4, 3, 1, 5), column = values(3, 3, 2, 7).reshape({3, 1});
  check_members([](const auto& a) { return a * 2 + exp(a); }, x);
  check_members([&](const auto& a) { return a * row + column; }, x);
  check_members([](const auto& a) { return a - mean(a); }, x);
  check_members([](const auto& a) { return a - mean(a, 0); }, x);
  check_members([](const auto& a) { return a - mean(a, 1, true); }, x);
  check_members([](const auto& a) { return sum(a, 1); }, x);
  check_members([](const auto& a) { return softmax(a, 0); }, x);
  check_members([](const auto& a) { return sum(a, 0) * sum(a); }, x);
  check_members([](const auto& a) { return layer_norm(a) + var(a, 1, true); }, x);
  check_members([](const auto& a) { return where(a > 0, a, sum(a)); }, x);
  // Members of fewer axes than what they meet.
  check_members([&](const auto& a) { return a + column; }, values(8, 3, 1, 11).reshape({2, 4}));
  check_members([&](const auto& a) { return a * x; }, values(5, 3, 1, 11));
  check_members([&](const auto& a) { return sum(a) + x.select(0, 1); }, values(8, 3, 1, 11).reshape({2, 4}));
}

TEST_CASE("vmap: products of vectors, matrices and stacks, on either side or both") {
  const Tensor<double> v = values(4, 3, 1, 5), m = values(12, 7, 3, 17).reshape({4, 3}),
                       stacked = values(24, 5, 2, 23).reshape({2, 3, 4});
  const Tensor<double> vectors = values(20, 7, 2, 19).reshape({5, 4}),
                       matrices = values(60, 7, 2, 59).reshape({5, 3, 4});
  check_members([&](const auto& a) { return matmul(a, v); }, vectors);
  check_members([&](const auto& a) { return matmul(v, a); }, vectors);
  check_members([&](const auto& a) { return matmul(a, m); }, vectors);
  check_members([&](const auto& a) { return matmul(transpose(m, 0, 1), a); }, vectors);
  check_members([&](const auto& a) { return matmul(stacked, a); }, vectors);
  check_members([&](const auto& a) { return matmul(a, transpose(stacked, 1, 2)); }, vectors);
  check_members([](const auto& a) { return matmul(a, a); }, vectors);
  check_members([&](const auto& a) { return matmul(a, v); }, matrices);
  check_members([&](const auto& a) { return matmul(a, m) + 1; }, matrices);
  check_members([&](const auto& a) { return matmul(m, a); }, matrices);
  check_members([&](const auto& a) { return matmul(stacked, transpose(a, 0, 1)); }, matrices);
  check_members([](const auto& a) { return matmul(a, transpose(a, 0, 1)); }, matrices);
  check_members([](const auto& a) { return matmul(a, a.select(0, 1)); }, matrices);
  check_members([](const auto& a) { return matmul(a.select(1, 2), a); }, matrices);
}

TEST_CASE("vmap: views see a member's axes alone") {
  const Tensor<double> x = values(24, 7, 5, 23).reshape({2, 3, 4});
  check_members([](const auto& a) { return a.reshape({2, -1}); }, x);
  check_members([](const auto& a) { return a.t() * 1; }, x);
  check_members([](const auto& a) { return a.flatten(); }, x);
  check_members([](const auto& a) { return slice(a, 1, 1, 3).unsqueeze(0); }, x);
  check_members([](const auto& a) { return a.select(0, -1).expand({2, 4}); }, x);
  check_members([](const auto& a) { return permute(a * 2, {1, 0}).reshape({6, 2}); }, x);
}

TEST_CASE("vmap: elements and triangles of members") {
  const Tensor<double> x = values(24, 7, 5, 23).reshape({2, 3, 4});
  const Tensor<double> parts = vmap([](const auto& a) { return a[1] + a[{2, slice(0, 4)}]; })(x);
  const Tensor<double> lower = vmap([](const auto& a) { return tril(a, -1); })(x);
  for (int b = 0; b < 2; ++b)
    for (int j = 0; j < 4; ++j) {
      CHECK(parts(b, j) == x(b, 1, j) + x(b, 2, j));
      for (int i = 0; i < 3; ++i) CHECK(lower(b, i, j) == (j < i ? x(b, i, j) : 0));
    }
  CHECK_THROWS_WITH_AS((vmap([](const auto& a) {
                         return a[{0, 0, 0}];
                       })(x)),
                       "x[{...}]: 3 indices for a tensor of shape [3, 4]: give one per axis at most", index_error);
}

TEST_CASE("vmap: several results, and results that are the same for all members") {
  const Tensor<double> x = values(6, 3, 1, 7).reshape({2, 3});
  const auto [first, second, third] = vmap(
      [&](const auto& a) {
        return std::tuple{sum(a), a * 2, 1.5};
      },
      0, std::tuple{0, 1, 0})(x);
  check_agrees(first, one_by_one([](const auto& a) { return sum(a); }, x));
  check_agrees(second, Tensor<double>(transpose(x * 2, 0, 1)));
  check_agrees(third, Tensor<double>{1.5, 1.5});
  CHECK(Tensor<double>(vmap([&](const auto&) { return x; })(x)).sizes() == dims{2, 2, 3});
  // What is no tensor is handed on.
  check_agrees(vmap([](const auto& a, double b) { return a * b; })(x, 2.0), Tensor<double>(x * 2));
}

TEST_CASE("vmap: jvp and vjp within") {
  const Tensor<double> x = values(6, 3, 1, 7).reshape({2, 3}), dx = values(6, 5, 2, 11).reshape({2, 3});
  const auto f = [](const auto& a) { return softmax(a) * a; };
  const auto both = vmap([&](const auto& a, const auto& da) { return jvp(f, a, da).second; });
  for (int i = 0; i < 2; ++i) check_agrees(both(x, dx).select(0, i), jvp(f, x.select(0, i), dx.select(0, i)).second);
  const auto back = vmap([&](const auto& a, const auto& g) { return vjp(f, a).second(g); });
  for (int i = 0; i < 2; ++i) check_agrees(back(x, dx).select(0, i), vjp(f, x.select(0, i)).second(dx.select(0, i)));
}

TEST_CASE("vmap: what does not fit is named") {
  const auto f = [](const auto& a, const auto& b) { return a + b; };
  CHECK_THROWS_WITH_AS(vmap(f)(zeros<double>({2, 3}), zeros<double>({4, 3})),
                       "vmap: argument 1 of shape [4, 3] has 4 members along axis 0, but argument 0 has 2",
                       shape_error);
  CHECK_THROWS_AS(vmap(f, 2)(zeros<double>({2, 3}), zeros<double>({2, 3})), index_error);
  CHECK_THROWS_AS(vmap(f, 0, 3)(zeros<double>({2, 3}), zeros<double>({2, 3})), index_error);
  CHECK_THROWS_WITH_AS(vmap(f)(zeros<double>({2}), Tensor<double>(1.0)), doctest::Contains("is 0-d"), shape_error);
  CHECK_THROWS_WITH_AS(vmap(f, std::tuple{unmapped, unmapped})(zeros<double>({2}), zeros<double>({2})),
                       doctest::Contains("no argument is mapped"), value_error);
  CHECK_THROWS_WITH_AS(vmap([](const auto& a) { return matmul(a, a); })(zeros<double>({2, 3, 4})),
                       doctest::Contains("[3, 4] and [3, 4]"), shape_error);
  // Two calls of vmap, one around the other, whose members meet where the inner one was not told of the outer one's.
  const Tensor<double> x = values(6, 3, 1, 7).reshape({2, 3});
  CHECK_THROWS_WITH_AS(vmap([&](const auto& a) { return vmap([&](const auto& b) { return sum(a) * b; })(x); })(x),
                       doctest::Contains("give it that value as an argument"), value_error);
}

TEST_CASE("vmap: zeros_like and its relatives, and dropout: one for all members") {
  check_agrees(vmap([](const auto& x) { return x + ones_like(x) - full_like(x, 0.5) * zeros_like(x); })(xs), xs + 1);
  manual_seed(7);
  const Tensor<double> mask = dropout(ones<double>(4), 0.5), noise = randn_like(zeros<double>({4}));
  manual_seed(7);
  check_agrees(vmap([](const auto& x) { return dropout(x, 0.5); })(xs), xs * mask);
  check_agrees(vmap([](const auto& x) { return x * randn_like(x); })(xs), xs * noise);
}

TEST_CASE("vmap: what tensors have as members, elements by index, and rows in a loop") {
  const auto f = [](const auto& x) {
    const auto turned = x.view(2, 2).permute(1, 0).contiguous();
    auto rows = turned[0];
    for (const auto& row : turned) rows = (rows + row * 2).eval();
    return rows.sum() + x(3) * turned(0, 1) + x[slice(1, 3)].max() +
           turned.transpose().exp().clamp(0.5, 2).mean(0).sum() + turned.matmul(rows).tanh().sum();
  };
  check_agrees(vmap(f)(xs), one_by_one(f, xs));
  static_assert(
      std::is_same_v<decltype(vmap([](const auto& x) { return x.template to<float>(); })(xs)), Tensor<float>>);
  CHECK_THROWS_WITH_AS(vmap([](const auto& x) { return x(0, 1); })(xs), doctest::Contains("2 indices"), index_error);
}

TEST_CASE("jvp: contiguous and elements by index") {
  const auto f = [](const auto& x) { return x.t().contiguous().view(-1) * x(0, 1); };
  const Tensor<double> x = values(6, 5, 2, 13).reshape({2, 3}), dx = values(6, 3, 1, 7).reshape({2, 3});
  const double step = 1e-6;
  const Tensor<double> up = f(Tensor<double>(x + dx * step)), down = f(Tensor<double>(x - dx * step));
  CHECK(max(abs(jvp(f, x, dx).second - (up - down) / (2 * step))).item() < 1e-8);
}
