// SPDX-License-Identifier: BSL-1.0
// MultiheadAttention against PyTorch's values, masks, positions, and what they refuse.
#include <kiln/nn/layers/attention.hpp>

#include "nn/layers/check.hpp"

#include <kiln/kiln.hpp>

using namespace kiln;

TEST_CASE("MultiheadAttention: PyTorch's values, gradients and names") {
  test::check_layer("attention", nn::MultiheadAttention<double>{4, 2, {.batch_first = true}},
                    {{2, 3, 4}, {2, 5, 4}, {2, 5, 4}},
                    [](const auto& m, const auto& x) { return m(x[0], x[1], x[2]); });
}

TEST_CASE("MultiheadAttention: PyTorch's masks of truth values and of padding") {
  const nn::MultiheadAttention<double> m{4, 2, {.batch_first = true}};
  const std::vector<dims> sizes{{2, 3, 4}, {2, 5, 4}, {2, 5, 4}};
  const Tensor<bool> hidden = Tensor<std::int64_t>{{0, 1, 0, 0, 0}, {0, 0, 0, 1, 1}, {1, 0, 0, 0, 0}} != 0;
  const Tensor<bool> padding = Tensor<std::int64_t>{{0, 0, 1, 0, 1}, {0, 1, 1, 1, 1}} != 0;
  test::check_layer("attention_masked", m, sizes,
                    [&](const auto& layer, const auto& x) { return layer(x[0], x[1], x[2], hidden); });
  test::check_layer("attention_padded", nn::MultiheadAttention<double>{4, 2, {.batch_first = true}}, sizes,
                    [&](const auto& layer, const auto& x) { return layer(x[0], x[1], x[2], {}, padding); });
  // Both together are one mask.
  const Tensor<double> q = test::wave({2, 3, 4}, 1, 0), k = test::wave({2, 5, 4}, 1, 2);
  const Tensor<bool> both = logical_or(hidden.reshape(1, 1, 3, 5), padding.reshape(2, 1, 1, 5));
  CHECK(allclose(m(q, k, k, hidden, padding), m(q, k, k, both), 1e-13, 1e-13));
  CHECK_THROWS_WITH_AS(m(q, k, k, {}, hidden),
                       "MultiheadAttention(embed_dim=4, num_heads=2): padding of shape [3, 5] for 2 x 5 keys: it must "
                       "be (batch, keys)",
                       shape_error);
}

TEST_CASE("MultiheadAttention: of itself, without a batch, with time first, it is the same") {
  manual_seed(3);
  const nn::MultiheadAttention<double> first{4, 2, {.batch_first = true}};
  nn::MultiheadAttention<double> second{4, 2};
  second.in_proj_weight = first.in_proj_weight, second.in_proj_bias = first.in_proj_bias;
  second.out_proj = first.out_proj;
  const Tensor<double> x = test::wave({2, 3, 4}, 1, 0), y = first(x, x, x), apart = first(x, x.clone(), x.clone());
  const Tensor<double> turned = x.transpose(0, 1).clone(), z = second(turned, turned, turned);
  const Tensor<double> one = x.select(0, 1), alone = first(one, one, one);
  for (std::int64_t t = 0; t < 3; ++t)
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK(y(1, t, i) == doctest::Approx(apart(1, t, i)).epsilon(1e-13));
      CHECK(y(1, t, i) == doctest::Approx(z(t, 1, i)).epsilon(1e-13));
      CHECK(y(1, t, i) == doctest::Approx(alone(t, i)).epsilon(1e-13));
    }
}

TEST_CASE("MultiheadAttention: with a causal mask the first result knows the first input alone") {
  manual_seed(4);
  const nn::MultiheadAttention<double> m{4, 2};
  const Tensor<double> x = test::wave({3, 1, 4}, 1, 0), first = x.narrow(0, 0, 1);
  const Tensor<double> y = m(x, x, x, nn::causal_mask<double>(3)), alone = m(first, first, first);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(y(0, 0, i) == doctest::Approx(alone(0, 0, i)).epsilon(1e-13));
  CHECK(allclose(m(x, x, x, nn::causal), y, 1e-13, 1e-13));
  CHECK_THROWS_AS(m(zeros<double>({3, 1, 5}), x, x), shape_error);
  const nn::MultiheadAttention<double> odd{4, 3};
  CHECK_THROWS_AS(odd(x, x, x), value_error);
}

TEST_CASE("MultiheadAttention: a width of which memory has no room for three is refused") {
  CHECK_THROWS_AS(nn::parameters(nn::MultiheadAttention<float>{std::numeric_limits<std::int64_t>::max() / 2}),
                  shape_error);
}

TEST_CASE("PositionalEncoding: sinusoids of the position") {
  nn::PositionalEncoding<double> p{6, 0.5, 10};
  nn::eval(p);
  const Tensor<double> y = p(zeros<double>({2, 4, 6}));
  CHECK(y(1, 3, 0) == doctest::Approx(std::sin(3)));
  CHECK(y(0, 3, 5) == doctest::Approx(std::cos(3 / std::pow(10000, 4.0 / 6))));
  CHECK_THROWS_AS(p(zeros<double>({2, 11, 6})), shape_error);
}
