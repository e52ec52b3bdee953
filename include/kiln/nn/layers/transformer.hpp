// SPDX-License-Identifier: BSL-1.0
// Transformers (Vaswani et al. 2017): a layer of the encoder, one of the decoder, stacks of them, and both together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kiln/nn/layers/attention.hpp>
#include <kiln/nn/layers/dropout.hpp>
#include <kiln/nn/layers/normalization.hpp>
#include <kiln/nn/module.hpp>

namespace kiln::nn {

/// What the feed-forward part of a transformer layer applies between its two products.
enum class feed_forward_activation { relu, gelu };

/// What transformer layers may be told.
struct transformer_options {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  feed_forward_activation activation = feed_forward_activation::relu;
  double layer_norm_eps = 1e-5;
  bool batch_first = false;  ///< inputs are (batch, time, d_model) and not (time, batch, d_model)
  bool norm_first = false;   ///< norm before each part, and not after it
  bool bias = true;
};

namespace detail {
/// linear2(dropout(activation(linear1(x)))) of a transformer layer.
template <class L, Element T, class D>
Tensor<T, D> fed_forward(const L& m, const Tensor<T, D>& x) {
  const Tensor<T, D> wide = m.linear1(x);
  // Dropout of probability 0 draws nothing.
  const double p = m.training.on ? m.options.dropout : 0;
  if (m.options.activation == feed_forward_activation::gelu) return m.linear2(dropout(gelu(wide), p));
  return m.linear2(dropout(relu(wide), p));
}
template <class L, Element T, class D>
Tensor<T, D> dropped(const L& m, const Tensor<T, D>& x) {
  if (!m.training.on || m.options.dropout == 0) return x;
  return dropout(x, m.options.dropout);
}
inline attention_options attention_of(const transformer_options& o) {
  return {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first};
}
inline layer_norm_options norm_of(const transformer_options& o) {
  return {.eps = o.layer_norm_eps, .bias = o.bias};
}
}  // namespace detail

/// Self-attention and a feed-forward part, each added to its input and normed: torch.nn.TransformerEncoderLayer.
template <Element T = float, class D = Cpu>
struct TransformerEncoderLayer {
  std::int64_t d_model = 0, nhead = 1;
  transformer_options options{};
  MultiheadAttention<T, D> self_attn{d_model, nhead, detail::attention_of(options)};
  Linear<T, D> linear1{d_model, options.dim_feedforward, {.bias = options.bias}};
  Linear<T, D> linear2{options.dim_feedforward, d_model, {.bias = options.bias}};
  LayerNorm<T, D> norm1{d_model, detail::norm_of(options)}, norm2{d_model, detail::norm_of(options)};
  training_flag training{};

  /// Sizes as the input's; `mask` and `padding` as MultiheadAttention's. Throws shape_error where sizes do not fit.
  Tensor<T, D> operator()(const Tensor<T, D>& x, const score_mask<T, D>& mask = {},
                          const Tensor<bool, D>& padding = {}) const {
    using X = Tensor<T, D>;
    auto attended = [&](const X& a) { return detail::dropped(*this, self_attn(a, a, a, mask, padding)); };
    auto fed = [&](const X& a) { return detail::dropped(*this, detail::fed_forward(*this, a)); };
    if (options.norm_first) {
      const X y = x + attended(norm1(x));
      return detail::watched(this, X(y + fed(norm2(y))));
    }
    const X y = norm1(X(x + attended(x)));
    return detail::watched(this, X(norm2(X(y + fed(y)))));
  }
};

/// Self-attention, attention to what the encoder made, and a feed-forward part: torch.nn.TransformerDecoderLayer.
template <Element T = float, class D = Cpu>
struct TransformerDecoderLayer {
  std::int64_t d_model = 0, nhead = 1;
  transformer_options options{};
  MultiheadAttention<T, D> self_attn{d_model, nhead, detail::attention_of(options)};
  MultiheadAttention<T, D> multihead_attn{d_model, nhead, detail::attention_of(options)};
  Linear<T, D> linear1{d_model, options.dim_feedforward, {.bias = options.bias}};
  Linear<T, D> linear2{options.dim_feedforward, d_model, {.bias = options.bias}};
  LayerNorm<T, D> norm1{d_model, detail::norm_of(options)}, norm2{d_model, detail::norm_of(options)};
  LayerNorm<T, D> norm3{d_model, detail::norm_of(options)};
  training_flag training{};

  /// Sizes as those of x; `memory` is the encoder's result; masks and padding as MultiheadAttention's, of x and of
  /// memory. Throws shape_error where sizes do not fit.
  Tensor<T, D> operator()(const Tensor<T, D>& x, const Tensor<T, D>& memory, const score_mask<T, D>& mask = {},
                          const score_mask<T, D>& memory_mask = {}, const Tensor<bool, D>& padding = {},
                          const Tensor<bool, D>& memory_padding = {}) const {
    using X = Tensor<T, D>;
    auto attended = [&](const X& a) { return detail::dropped(*this, self_attn(a, a, a, mask, padding)); };
    auto looked = [&](const X& a) {
      return detail::dropped(*this, multihead_attn(a, memory, memory, memory_mask, memory_padding));
    };
    auto fed = [&](const X& a) { return detail::dropped(*this, detail::fed_forward(*this, a)); };
    if (options.norm_first) {
      const X y = x + attended(norm1(x)), z = y + looked(norm2(y));
      return detail::watched(this, X(z + fed(norm3(z))));
    }
    const X y = norm1(X(x + attended(x))), z = norm2(X(y + looked(y)));
    return detail::watched(this, X(norm3(X(z + fed(z)))));
  }
};

namespace detail {
template <class Layer>
std::vector<Layer> layers_of(std::int64_t n, std::int64_t d_model, std::int64_t nhead, const transformer_options& o) {
  if (n < 0) throw value_error(message(short_name<Layer>(), ": ", n, " layers: use 0 or more"));
  std::vector<Layer> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(Layer{d_model, nhead, o});
  return all;
}
// A function of its own: g++ 12 stops with an internal error where a member's initialiser holds this choice.
template <Element T, class D>
std::optional<LayerNorm<T, D>> norm_if(bool wanted, std::int64_t d_model, const transformer_options& o) {
  if (!wanted) return std::nullopt;
  return LayerNorm<T, D>{d_model, norm_of(o)};
}
}  // namespace detail

/// num_layers encoder layers, and a last norm if asked for, as a model with norm_first needs one:
/// torch.nn.TransformerEncoder; its layers begin with weights of their own.
template <Element T = float, class D = Cpu>
struct TransformerEncoder {
  std::int64_t d_model = 0, nhead = 1, num_layers = 0;
  transformer_options options{};
  bool final_norm = false;
  std::vector<TransformerEncoderLayer<T, D>> layers =
      detail::layers_of<TransformerEncoderLayer<T, D>>(num_layers, d_model, nhead, options);
  std::optional<LayerNorm<T, D>> norm = detail::norm_if<T, D>(final_norm, d_model, options);

  /// As its layers.
  Tensor<T, D> operator()(Tensor<T, D> x, const score_mask<T, D>& mask = {},
                          const Tensor<bool, D>& padding = {}) const {
    for (const auto& layer : layers) x = layer(x, mask, padding);
    return norm ? Tensor<T, D>((*norm)(x)) : x;
  }
};
/// num_layers decoder layers, and a last norm if asked for: torch.nn.TransformerDecoder.
template <Element T = float, class D = Cpu>
struct TransformerDecoder {
  std::int64_t d_model = 0, nhead = 1, num_layers = 0;
  transformer_options options{};
  bool final_norm = false;
  std::vector<TransformerDecoderLayer<T, D>> layers =
      detail::layers_of<TransformerDecoderLayer<T, D>>(num_layers, d_model, nhead, options);
  std::optional<LayerNorm<T, D>> norm = detail::norm_if<T, D>(final_norm, d_model, options);

  /// As its layers.
  Tensor<T, D> operator()(Tensor<T, D> x, const Tensor<T, D>& memory, const score_mask<T, D>& mask = {},
                          const score_mask<T, D>& memory_mask = {}, const Tensor<bool, D>& padding = {},
                          const Tensor<bool, D>& memory_padding = {}) const {
    for (const auto& layer : layers) x = layer(x, memory, mask, memory_mask, padding, memory_padding);
    return norm ? Tensor<T, D>((*norm)(x)) : x;
  }
};

/// What Transformer may be told beside its layers' options.
struct transformer_depths {
  std::int64_t num_encoder_layers = 6, num_decoder_layers = 6;
};
/// What Transformer's parts do not see; a padding is (batch, time), true where there is nothing.
template <Element T, class D>
struct transformer_masks {
  score_mask<T, D> src{}, tgt{}, memory{};
  Tensor<bool, D> src_padding{}, tgt_padding{}, memory_padding{};
};

namespace detail {
/// A stack with a last norm, whose matrices begin as Glorot's uniform numbers.
template <class Stack>
Stack glorot_stack(std::int64_t d_model, std::int64_t nhead, std::int64_t layers, const transformer_options& o) {
  Stack made{d_model, nhead, layers, o, true};
  const no_grad quiet;
  for (auto& p : parameters(made))
    if (p.dim() > 1) p.copy_(init::xavier_uniform<typename tensor_of<Stack>::value_type>(p.sizes()).to(p.device()));
  return made;
}
}  // namespace detail

/// An encoder, and a decoder that looks at what it made, each with a last norm: torch.nn.Transformer. Matrices begin as
/// Glorot's uniform numbers.
template <Element T = float, class D = Cpu>
struct Transformer {
  std::int64_t d_model = 512, nhead = 8;
  transformer_depths depths{};
  transformer_options options{};
  TransformerEncoder<T, D> encoder =
      detail::glorot_stack<TransformerEncoder<T, D>>(d_model, nhead, depths.num_encoder_layers, options);
  TransformerDecoder<T, D> decoder =
      detail::glorot_stack<TransformerDecoder<T, D>>(d_model, nhead, depths.num_decoder_layers, options);

  /// The decoder's result for tgt, in its sizes; src and tgt as options.batch_first says. Throws shape_error where
  /// sizes do not fit.
  Tensor<T, D> operator()(const Tensor<T, D>& src, const Tensor<T, D>& tgt,
                          const transformer_masks<T, D>& masks = {}) const {
    const Tensor<T, D> memory = encoder(src, masks.src, masks.src_padding);
    return detail::watched(this,
                           decoder(tgt, memory, masks.tgt, masks.memory, masks.tgt_padding, masks.memory_padding));
  }
};

#ifdef KILN_COMPILED  // in src/models.cpp
extern template struct TransformerEncoderLayer<float, Cpu>;
#endif

}  // namespace kiln::nn
