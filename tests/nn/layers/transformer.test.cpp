// SPDX-License-Identifier: BSL-1.0
// Transformer layers against PyTorch's values and names, and stacks of them.
#include <kiln/nn/layers/transformer.hpp>

#include "nn/layers/check.hpp"

using namespace kiln;

TEST_CASE("transformer layers: PyTorch's values, gradients and names") {
  using nn::feed_forward_activation;
  nn::transformer_options how{.dim_feedforward = 8, .dropout = 0, .batch_first = true};
  auto call = [](const auto& m, const auto& x) { return m(x[0]); };
  test::check_layer("encoder_layer", nn::TransformerEncoderLayer<double>{4, 2, how}, {{2, 3, 4}}, call);
  test::check_layer("decoder_layer", nn::TransformerDecoderLayer<double>{4, 2, how}, {{2, 3, 4}, {2, 5, 4}},
                    [](const auto& m, const auto& x) { return m(x[0], x[1]); });
  how.norm_first = true;
  how.activation = feed_forward_activation::gelu;
  test::check_layer("encoder_layer_first", nn::TransformerEncoderLayer<double>{4, 2, how}, {{2, 3, 4}}, call);
}

TEST_CASE("transformers: stacks are their layers one after the other") {
  manual_seed(5);
  const nn::transformer_options how{.dim_feedforward = 8, .dropout = 0.1, .batch_first = true};
  nn::TransformerEncoder<double> encoder{4, 2, 2, how, true};
  nn::eval(encoder);
  const Tensor<double> x = test::wave({1, 3, 4}, 1, 0), y = encoder(x);
  const Tensor<double> z = (*encoder.norm)(encoder.layers[1](encoder.layers[0](x)));
  for (std::int64_t i = 0; i < 12; ++i) CHECK(y.data()[i] == doctest::Approx(z.data()[i]).epsilon(1e-13));
  CHECK(nn::named_parameters(encoder).at(12).first == "layers.1.self_attn.in_proj_weight");
  CHECK(nn::named_parameters(encoder).back().first == "norm.bias");
  CHECK_THROWS_AS(nn::parameters(nn::TransformerEncoder<double>{4, 2, -1}), value_error);
}

TEST_CASE("Transformer: PyTorch's values, gradients and names, with masks") {
  const nn::transformer_options how{.dim_feedforward = 8, .dropout = 0, .batch_first = true};
  const nn::Transformer<double> m{4, 2, {1, 2}, how};
  const Tensor<bool> padding = Tensor<std::int64_t>{{0, 0, 1, 0, 1}, {0, 1, 1, 1, 1}} != 0;
  test::check_layer("transformer", m, {{2, 5, 4}, {2, 3, 4}}, [&](const auto& net, const auto& x) {
    return net(x[0], x[1], {.tgt = nn::causal, .src_padding = padding, .memory_padding = padding});
  });
  // Matrices begin as Glorot's numbers: as far as sqrt(6 / (inputs + outputs)) and no further.
  manual_seed(6);
  const nn::Transformer<double> fresh{4, 2, {1, 1}, how};
  const Tensor<double> most = max(abs(fresh.encoder.layers[0].linear1.weight));
  CHECK(most.item() <= std::sqrt(6.0 / 12));
  CHECK(most.item() > 0.9 * std::sqrt(6.0 / 12));
  CHECK_THROWS_AS(fresh(test::wave({2, 5, 3}, 1, 0), test::wave({2, 3, 4}, 1, 0)), shape_error);
}
