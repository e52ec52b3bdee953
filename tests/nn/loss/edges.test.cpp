// SPDX-License-Identifier: BSL-1.0
// Losses where they have kinks, limits and infinite derivatives, against PyTorch's values, gradients and second
// derivatives (make_edges.py), and what is refused there.
#include <kiln/autograd/create_graph.hpp>
#include <kiln/kiln.hpp>
#include <kiln/nn/loss/distribution.hpp>
#include <kiln/nn/loss/margin.hpp>
#include <kiln/nn/loss/regression.hpp>
#include <kiln/transform/jacobian.hpp>

#include <nn/loss/edges.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

using namespace kiln;

namespace {

using Doubles = Tensor<double>;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr auto none = nn::reduction::none;

bool near(double got, double want) {
  return got == want || std::abs(got - want) <= 1e-11 * (1 + std::abs(want));
}
template <class F>
void check(const std::string& name, F loss) {
  CAPTURE(name);
  const test::edge_values& known = test::edges().at(name);
  Doubles x = tensor(known.x);
  x.requires_grad();
  const Doubles total = sum(loss(x));
  CHECK(near(total.item(), known.value));
  const bool twice = !known.second.empty();
  const Doubles slope = grad(total, x, {.create_graph = twice});
  for (std::size_t i = 0; i < known.x.size(); ++i) {
    CAPTURE(i);
    CHECK(near(slope.data()[i], known.gradient[i]));
  }
  if (!twice) return;
  const Doubles second = grad(Doubles(sum(slope)), x);
  for (std::size_t i = 0; i < known.x.size(); ++i) {
    CAPTURE(i);
    CHECK(near(second.data()[i], known.second[i]));
  }
}

const Doubles rows{{1, 2, -1}, {0.5, 0.5, 3}}, other{{2, 2, -3}, {0.5, 1.5, 2}}, far{{0, 1, 1}, {2.5, 0.25, 3.5}};
const Doubles along{{1, 0, 0}}, twice_along{{2, 0, 0}};

}  // namespace

TEST_CASE("losses at their edges: PyTorch's values and derivatives") {
  const Doubles ones_and_zeros{0, 1, 1, 0, 0.25, 1}, five{1, 2, 2, 3, 3};
  check("bce", [&](const auto& x) { return nn::binary_cross_entropy(x, ones_and_zeros, {none}); });
  check("huber", [&](const auto& x) { return nn::huber_loss(x, five, {none, 1}); });
  check("huber_inf", [&](const auto& x) { return nn::huber_loss(x, Doubles{1, 2.5, 2}, {none, inf}); });
  check("smooth_l1", [&](const auto& x) { return nn::smooth_l1_loss(x, five, {none, 1}); });
  check("gaussian", [&](const auto& x) {
    const Doubles target{1, 3, 3}, variance{inf, 0, 1e-9};
    return nn::gaussian_nll_loss(x, target, variance, {.reduction = none});
  });
  check("gaussian_variance", [&](const auto& x) {
    const Doubles input{1, 3, 3, 1}, target{2, 3, 4, 5};
    return nn::gaussian_nll_loss(input, target, x, {.reduction = none});
  });
  check("hinge", [&](const auto& x) { return nn::hinge_embedding_loss(x, Doubles{-1.0, -1.0, -1.0, 1.0}, {1, none}); });
  check("ranking", [&](const auto& x) {
    return nn::margin_ranking_loss(x, Doubles{1.0, 1.0, 4.0}, Doubles{1.0, 1.0, 1.0}, {0, none});
  });
  check("cosine", [&](const auto& x) {
    return nn::cosine_embedding_loss(x.reshape(3, 2), Doubles{{0.0, 1.0}, {0.0, 1.0}, {4.0, 3.0}},
                                     Doubles{-1.0, 1.0, -1.0}, {0, none});
  });
  for (const int p : {1, 2})
    check(p == 1 ? "multi_margin" : "multi_margin_2", [&](const auto& x) {
      const Tensor<int> classes{1, 0};
      return nn::multi_margin_loss(x.reshape(2, 3), classes, {.p = p, .reduction = none});
    });
  const std::pair<std::string, double> norms[] = {{"1", 1}, {"2", 2}, {"3", 3}, {"half", 0.5}, {"inf", inf}};
  for (const auto& [name, p] : norms) {
    check("triplet_" + name, [&, p = p](const auto& x) {
      return nn::triplet_margin_loss(x.reshape(2, 3), other, far, {.margin = 20, .p = p, .reduction = none});
    });
    check("triplet_" + name + "_equal", [&, p = p](const auto& x) {
      return nn::triplet_margin_loss(x.reshape(2, 3), rows, far, {.margin = 20, .p = p, .eps = 0, .reduction = none});
    });
    check("triplet_" + name + "_kink", [&, p = p](const auto& x) {
      return nn::triplet_margin_loss(x.reshape(1, 3), along, twice_along, {.p = p, .eps = 0, .reduction = none});
    });
  }
}
TEST_CASE("losses at their edges: what is refused") {
  const Doubles x = zeros<double>({2, 3});
  CHECK_THROWS_WITH_AS(nn::multi_margin_loss(x, Tensor<int>{-1, 0}), doctest::Contains("class -1 is outside [0, 3)"),
                       index_error);
  CHECK_THROWS_WITH_AS(nn::gaussian_nll_loss(x, x, Doubles{0.5, -1e-9, 1.0}), doctest::Contains("a variance below 0"),
                       value_error);
  CHECK_THROWS_WITH_AS(nn::cross_entropy(x, Doubles{1.0, 2.0}), doctest::Contains("class numbers an integer type"),
                       shape_error);
  CHECK_THROWS_AS(nn::triplet_margin_loss(x, x, x, {.p = std::nan("")}), value_error);
}
