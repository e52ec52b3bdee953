// SPDX-License-Identifier: BSL-1.0
// MultiheadAttention, and sinusoids that tell positions. No matrix of scores is held (nn/functional/attention.hpp).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <kiln/expr/reductions.hpp>
#include <kiln/nn/buffer.hpp>
#include <kiln/nn/functional/attention.hpp>
#include <kiln/nn/functional/dropout.hpp>
#include <kiln/nn/layers/linear.hpp>

namespace kiln::nn {

/// Numbers to add to scores of n queries and n keys, so that no query sees a later key: 0, and -inf above the diagonal.
template <Element T = float, class D = Cpu>
Tensor<T, D> causal_mask(std::int64_t n, D where = {}) {
  auto mask = zeros<T>({n, n});
  for (std::int64_t q = 0; q < n; ++q)
    for (std::int64_t k = q + 1; k < n; ++k) mask.data()[q * n + k] = -std::numeric_limits<T>::infinity();
  return mask.template to<D>(where);
}

/// As a mask: no query sees a later key.
struct causal_t {};
inline constexpr causal_t causal{};

/// What attention does not see, as PyTorch's modules take it: numbers that are added to the scores, or truth values,
/// true where a key is not to be seen; or `nn::causal`, for which no mask is stored. Broadcasts to (batch, heads,
/// queries, keys).
template <Element T, class D>
struct score_mask {
  Tensor<T, D> added{};
  Tensor<bool, D> hidden{};
  bool is_causal = false;
  score_mask() = default;
  score_mask(Tensor<T, D> numbers) : added(std::move(numbers)) {}
  score_mask(Tensor<bool, D> not_seen) : hidden(std::move(not_seen)) {}
  score_mask(causal_t) : is_causal(true) {}
};

/// What MultiheadAttention may be told.
struct attention_options {
  double dropout = 0;        ///< of the weights, in training
  bool bias = true;          ///< of all four products
  bool batch_first = false;  ///< inputs are (batch, time, embed_dim) and not (time, batch, embed_dim)
};

namespace detail {
/// The product that mixes the heads; its bias begins with zeros.
template <Element T, class D>
Linear<T, D> zero_biased(std::int64_t size, bool bias) {
  Linear<T, D> made{size, size, {.bias = bias}};
  if (bias) made.bias = init::constant<T, D>({size}, 0);
  return made;
}
/// From (time, batch, width), (batch, time, width) or (time, width) to the second.
template <Element T, class D>
Tensor<T, D> in_batches(const Tensor<T, D>& x, bool batch_first) {
  return x.dim() == 2 ? unsqueeze(x, 0) : batch_first ? x : x.transpose(0, 1);
}
/// (batch, time, parts * width), the product with so many of the thirds of the weights (3 * width, width).
template <Element T, class D>
Tensor<T, D> projected(const Tensor<T, D>& x, const Tensor<T, D>& weights, const Tensor<T, D>& biases,
                       std::int64_t first, std::int64_t parts) {
  const std::int64_t width = weights.size(1);
  const auto weight = parts == 3 ? weights : weights.narrow(0, first * width, width);
  const auto bias = !biases.defined() || parts == 3 ? biases : biases.narrow(0, first * width, width);
  return matmul(x, kiln::detail::turned(weight)) + or_number(bias, weights, 0);
}
/// (batch, heads, time, width / heads).
template <Element T, class D>
Tensor<T, D> in_heads(const Tensor<T, D>& x, std::int64_t heads) {
  return x.reshape(x.size(0), x.size(1), heads, x.size(2) / heads).transpose(1, 2);
}
}  // namespace detail

/// Attention of num_heads heads (Vaswani et al. 2017): torch.nn.MultiheadAttention with keys and values as wide as the
/// queries.
template <Element T = float, class D = Cpu>
struct MultiheadAttention {
  std::int64_t embed_dim = 0, num_heads = 1;
  attention_options options{};
  Tensor<T, D> in_proj_weight = init::xavier_uniform<T, D>({count({3, embed_dim}), embed_dim});
  Tensor<T, D> in_proj_bias = options.bias ? init::constant<T, D>({count({3, embed_dim})}, 0) : Tensor<T, D>();
  Linear<T, D> out_proj = detail::zero_biased<T, D>(embed_dim, options.bias);
  training_flag training{};

  /// The values (batch, keys, embed_dim), mixed for each query (batch, queries, embed_dim) by softmax of the products
  /// of queries and keys; all as batch_first says, or without batch. `mask`, if given, says what is not seen: numbers
  /// to add to the scores, truth values, or nn::causal; `padding` (batch, keys) is true for keys that are none. Throws
  /// shape_error where sizes do not fit, value_error if the heads do not divide embed_dim.
  Tensor<T, D> operator()(const Tensor<T, D>& query, const Tensor<T, D>& key, const Tensor<T, D>& value,
                          const score_mask<T, D>& mask = {}, const Tensor<bool, D>& padding = {}) const {
    if (num_heads < 1 || embed_dim % num_heads != 0)
      throw value_error(message(detail::printed_layer(*this), ": the heads must divide embed_dim"));
    for (const auto* x : {&query, &key, &value}) {
      detail::expect_rank(*this, x->sizes(), 2, 3, "(batch, time, embed_dim) or (time, embed_dim)");
      detail::expect_size(*this, x->sizes(), -1, embed_dim);
    }
    const Tensor<T, D> q = detail::in_batches(query, options.batch_first),
                       k = detail::in_batches(key, options.batch_first),
                       v = detail::in_batches(value, options.batch_first);
    const bool itself = query.state() == key.state() && key.state() == value.state();
    const Tensor<T, D> all = itself ? detail::projected(q, in_proj_weight, in_proj_bias, 0, 3) : Tensor<T, D>();
    const auto part = [&](const Tensor<T, D>& x, std::int64_t i) {
      return detail::in_heads(
          itself ? all.narrow(-1, i * embed_dim, embed_dim) : detail::projected(x, in_proj_weight, in_proj_bias, i, 1),
          num_heads);
    };
    const Tensor<T, D> queries = part(q, 0), keys = part(k, 1), values = part(v, 2);
    scaled_attention_options<T, D> how{.causal = mask.is_causal, .dropout = training.on ? options.dropout : 0};
    how.mask.added = mask.added;
    if (mask.hidden.defined()) how.mask.allowed = !mask.hidden;
    if (padding.defined()) {
      const Tensor<bool, D> hidden = padding.dim() == 1 ? padding.unsqueeze(0) : padding;
      if (hidden.sizes() != dims{k.size(0), k.size(1)})
        throw shape_error(message(detail::printed_layer(*this), ": padding of shape ", padding.sizes(), " for ",
                                  k.size(0), " x ", k.size(1), " keys: it must be (batch, keys)"));
      const Tensor<bool, D> keys_hidden = hidden.reshape(k.size(0), 1, 1, k.size(1));
      how.mask.allowed =
          how.mask.allowed.defined() ? Tensor<bool, D>(logical_and(how.mask.allowed, !keys_hidden)) : !keys_hidden;
    }
    const Tensor<T, D> mixed = scaled_dot_product_attention(queries, keys, values, how);
    const Tensor<T, D> joined = mixed.transpose(1, 2).reshape(q.size(0), q.size(1), embed_dim);
    const Tensor<T, D> y = out_proj(joined);
    return detail::watched(this, query.dim() == 2 ? squeeze(y, 0) : options.batch_first ? y : y.transpose(0, 1));
  }
  std::string settings() const { return detail::settings_text("embed_dim", embed_dim, "num_heads", num_heads); }
};

/// Adds sinusoids of the position to inputs (batch, time, d_model), then drops (Vaswani et al. 2017): even places hold
/// sin(t / 10000^(i / d_model)), odd ones the cosine.
template <Element T = float, class D = Cpu>
struct PositionalEncoding {
  std::int64_t d_model = 0;
  double dropout = 0.1;
  std::int64_t max_len = 5000;
  buffer<Tensor<T, D>> pe = table(d_model, max_len);
  training_flag training{};

  /// Throws shape_error for another width or more than max_len times.
  template <Expression X>
  auto operator()(const X& x) const {
    const dims sizes = shape_of(x);
    detail::expect_rank(*this, sizes, 2, 3, "(batch, time, d_model) or (time, d_model)");
    detail::expect_size(*this, sizes, -1, d_model);
    const std::int64_t times = sizes[sizes.rank() - 2];
    if (times > max_len)
      throw shape_error(message(detail::printed_layer(*this), ": got an input of shape ", sizes, " with ", times,
                                " times; expected ", max_len, " at most (max_len)"));
    return detail::watched(this, kiln::dropout(x + pe->narrow(0, 0, times), dropout, training.on));
  }
  std::string settings() const { return detail::settings_text("", d_model, "dropout", dropout, "max_len", max_len); }

  /// (length, size): the sinusoids of each position.
  static Tensor<T, D> table(std::int64_t size, std::int64_t length) {
    auto all = zeros<T>({length, size});
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t i = 0; i < size; ++i) {
        const double even = static_cast<double>(i / 2 * 2);
        const double angle = static_cast<double>(t) * std::exp(-std::log(10000.0) * even / static_cast<double>(size));
        all.data()[t * size + i] = static_cast<T>(i % 2 ? std::cos(angle) : std::sin(angle));
      }
    return all.template to<D>();
  }
};

#ifdef KILN_COMPILED  // in src/models.cpp
extern template struct MultiheadAttention<float, Cpu>;
#endif

}  // namespace kiln::nn
