// SPDX-License-Identifier: BSL-1.0
// scaled_dot_product_attention. On the processor it never holds the matrix of scores
// (device/cpu/products/attention.hpp): beside its operands and its result it keeps one number for each query. On other
// devices it is the products and the softmax between them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/core/attention_job.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/nn/functional/dropout.hpp>
#include <kiln/nn/functional/window.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/triangular.hpp>
#include <kiln/tensor/views.hpp>

#ifndef KILN_COMPILED
#include <kiln/device/cpu/products/attention.hpp>

namespace kiln::cpu::drivers {
using cpu::attention;
using cpu::attention_backward;
}  // namespace kiln::cpu::drivers
#endif

namespace kiln {

/// Which keys a query sees: numbers added to the scores, and truth values of the keys that it sees; either broadcasts
/// to
/// (..., queries, keys).
template <Element T, class D>
struct attention_mask {
  Tensor<T, D> added{};
  Tensor<bool, D> allowed{};
  attention_mask() = default;
  attention_mask(Tensor<T, D> numbers) : added(std::move(numbers)) {}
  attention_mask(Tensor<bool, D> seen) : allowed(std::move(seen)) {}
};

/// What scaled_dot_product_attention may be told.
template <Element T, class D>
struct scaled_attention_options {
  bool causal = false;            ///< query i sees the keys up to i alone
  attention_mask<T, D> mask{};    ///< none: all keys are seen
  double dropout = 0;             ///< the share of weights that become 0; the others make up for it
  std::optional<double> scale{};  ///< of the products; none: 1 / sqrt(width of the queries)
};

namespace detail {

/// Matrices as the job wants them, of a tensor of their sizes and strides.
template <class T>
matrix_places<T> places_of(const void* data, const dims& sizes, const dims& strides) {
  const int leading = sizes.rank() - 2;
  matrix_places<T> at{static_cast<const T*>(data), {}, strides[leading], strides[leading + 1]};
  std::int64_t matrices = 1;
  for (int i = 0; i < leading; ++i) matrices *= sizes[i];
  at.offsets.reserve(static_cast<std::size_t>(matrices));
  for (std::int64_t n = 0; n < matrices; ++n) {
    std::int64_t offset = 0, rest = n;
    for (int i = leading - 1; i >= 0; --i) offset += rest % sizes[i] * strides[i], rest /= sizes[i];
    at.offsets.push_back(offset);
  }
  return at;
}

template <class T>
class attention_node final : public op_node_of<3, 7> {
 public:
  using operands = std::array<const tensor_state*, 7>;  // q, k, v, result, logsumexp, masks or null
  attention_node(const attention_job<T>& job, const operands& kept, std::array<ref<gradient_record>, 3> records)
      : op_node_of(functions_of<Cpu>), job_(job) {
    job_.q = job_.k = job_.v = job_.added = {}, job_.allowed = {};  // made again of what is kept
    for (std::size_t i = 0; i < 3; ++i) input[i] = std::move(records[i]);
    for (std::size_t i = 0; i < 7; ++i)
      if (kept[i]) saved[i].save(*kept[i]);
  }
  const char* name() const override { return "scaled_dot_product_attention"; }
  void backward(const ref<tensor_state>& gradient) override {
    check_saved(*gradient->memory);
    attention_job<T> job = job_;
    const auto places = [&]<class E>(std::type_identity<E>, const saved_value& v) {
      return places_of<E>(v.data, v.sizes, v.strides);
    };
    job.q = places(std::type_identity<T>{}, saved[0]);
    job.k = places(std::type_identity<T>{}, saved[1]);
    job.v = places(std::type_identity<T>{}, saved[2]);
    if (saved[5].memory) job.added = places(std::type_identity<T>{}, saved[5]);
    if (saved[6].memory) job.allowed = places(std::type_identity<bool>{}, saved[6]);
    T* to[3] = {};
    for (int i = 0; i < 3; ++i)
      if (wants(i)) {
        gradient_target into = target(i, *gradient->memory);
        to[i] = static_cast<T*>(into.added(device()).data);
      }
    cpu::drivers::attention_backward(job, static_cast<const T*>(saved[3].data), static_cast<const T*>(saved[4].data),
                                     static_cast<const T*>(gradient->data), to[0], to[1], to[2]);
  }

 private:
  attention_job<T> job_;
};

/// Throws shape_error unless stacks of queries, keys, values and a mask go together.
inline void expect_attention(const dims& q, const dims& k, const dims& v) {
  bool fits = q.rank() >= 2 && k.rank() == q.rank() && v.rank() == q.rank();
  for (int i = 0; fits && i + 2 < q.rank(); ++i) fits = q[i] == k[i] && q[i] == v[i];
  if (!fits || q.back() != k.back() || k[k.rank() - 2] != v[v.rank() - 2])
    throw shape_error(message("scaled_dot_product_attention: queries of shape ", q, ", keys of ", k, " and values of ",
                              v,
                              ": they must be (..., queries, width), (..., keys, width) and (..., keys, value width), "
                              "with the same axes in front"));
}

template <class T>
Tensor<T> attention_of(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v,
                       const scaled_attention_options<T, Cpu>& options, double scale) {
  const bool recorded = grad_enabled();
  const no_grad quiet;  // the mask is expanded here; the operands are read where they are
  const dims sizes = q.sizes();
  const int last = sizes.rank() - 1;
  dims scores = sizes, result = sizes, each = sizes;
  scores[last] = k.sizes()[last - 1], result[last] = v.sizes()[last], each.erase(last);
  attention_job<T> job{.matrices = 1,
                       .queries = sizes[last - 1],
                       .keys = scores[last],
                       .width = sizes[last],
                       .value_width = result[last],
                       .q = places_of<T>(q.data(), sizes, q.strides()),
                       .k = places_of<T>(k.data(), k.sizes(), k.strides()),
                       .v = places_of<T>(v.data(), v.sizes(), v.strides()),
                       .causal = options.causal,
                       .scale = static_cast<T>(scale),
                       .dropout = options.dropout};
  for (int i = 0; i < last - 1; ++i) job.matrices *= sizes[i];
  if (options.dropout > 0)
    job.stream =
        default_generator().take(static_cast<std::uint64_t>(job.matrices * job.queries * job.blocks_per_row()));
  Tensor<T> added;
  Tensor<bool> allowed;
  if (options.mask.added.defined()) {
    added = expand(options.mask.added, scores);
    job.added = places_of<T>(added.data(), scores, added.strides());
  }
  if (options.mask.allowed.defined()) {
    allowed = expand(options.mask.allowed, scores);
    job.allowed = places_of<bool>(allowed.data(), scores, allowed.strides());
  }
  auto out = new_output(q, result), logsumexp = new_output(q, each);
  if (count(result) > 0) cpu::drivers::attention(job, static_cast<T*>(out->data), static_cast<T*>(logsumexp->data));
  std::array<ref<gradient_record>, 3> records{q.state()->history, k.state()->history, v.state()->history};
  if (!recorded || !(records[0] || records[1] || records[2])) return Tensor<T>(std::move(out));
  const auto if_any = [](const auto& x) { return x.defined() ? x.state().get() : nullptr; };
  const typename attention_node<T>::operands kept{q.state().get(), k.state().get(), v.state().get(), out.get(),
                                                  logsumexp.get(), if_any(added),   if_any(allowed)};
  graph_node* const node = new attention_node<T>(job, kept, std::move(records));
  return with_producer<T, Cpu>(std::move(out), node);
}

/// The same as a softmax between two products, on any device: the scores are a tensor.
template <class T, class D>
Tensor<T, D> composed_attention(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v,
                                const scaled_attention_options<T, D>& options, double scale) {
  const T nothing = -std::numeric_limits<T>::infinity();
  Tensor<T, D> scores = matmul(q, transpose(k, -2, -1)) * scale;
  if (options.mask.added.defined()) scores = scores + options.mask.added;
  if (options.mask.allowed.defined()) scores = where(options.mask.allowed, scores, nothing);
  if (options.causal) {
    const auto ahead = triu(ones<T, D>({scores.size(-2), scores.size(-1)}, D(q.device())), 1);
    scores = where(ahead != 0, nothing, scores);
  }
  // A query that sees no key gets zeros.
  const Tensor<bool, D> blind = max(scores, -1, true) == nothing;
  const Tensor<T, D> weights = where(blind, 0, softmax(where(blind, 0, scores), -1));
  if (options.dropout > 0) return matmul(Tensor<T, D>(dropout(weights, options.dropout)), v);
  return matmul(weights, v);
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template class attention_node<float>;
extern template Tensor<float> attention_of(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                           const scaled_attention_options<float, Cpu>&, double);
extern template Tensor<float> composed_attention(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                                 const scaled_attention_options<float, Cpu>&, double);
#endif

}  // namespace detail

/// softmax(scale q k^T + mask) v for queries (..., L, E), keys (..., S, E) and values (..., S, V): torch's function of
/// the name. On the processor no matrix of scores is ever held: memory grows with L + S; it has no second derivative
/// there (graph_error). On Cuda the scores are a tensor. A query that sees no key gets zeros. The mask has no gradient;
/// half and bfloat16 are computed in float. Throws shape_error where sizes do not fit, value_error for a dropout
/// outside [0, 1], graph_error for a mask that asks for its gradient.
template <Element T, class D>
Tensor<T, D> scaled_dot_product_attention(const Tensor<T, D>& query, const std::type_identity_t<Tensor<T, D>>& key,
                                          const std::type_identity_t<Tensor<T, D>>& value,
                                          const std::type_identity_t<scaled_attention_options<T, D>>& options = {}) {
  static_assert(is_floating(dtype_of<T>), "kiln: attention needs a floating element type: cast<float>() the operands");
  static_assert(!detail::any_transformed<Tensor<T, D>>,
                "kiln: scaled_dot_product_attention takes stacks itself: call it on the whole batch, not within vmap; "
                "its derivatives are grad's and vjp's, not jvp's");
  detail::expect_attention(query.sizes(), key.sizes(), value.sizes());
  if (!(options.dropout >= 0 && options.dropout <= 1))
    throw value_error(message("scaled_dot_product_attention: a dropout of ", options.dropout, ": use one from 0 to 1"));
  const attention_mask<T, D>& mask = options.mask;
  if (mask.added.defined() && grad_enabled() && mask.added.state()->history)
    throw graph_error(
        "scaled_dot_product_attention: the mask asks for a gradient and has none here: detach() it, or write the "
        "softmax between the products yourself");
  const double scale = options.scale ? *options.scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  if constexpr (!std::is_same_v<D, Cpu>) {
    return detail::composed_attention(query, key, value, options, scale);
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    // Results without elements may have more matrices than can be counted.
    bool nothing = value.size(-1) == 0;
    for (int i = 0; i + 1 < query.dim(); ++i) nothing = nothing || query.size(i) == 0;
    if (nothing) return detail::composed_attention(query, key, value, options, scale);
    return detail::attention_of(query, key, value, options, scale);
  } else {
    scaled_attention_options<float, Cpu> wide{options.causal, {}, options.dropout, scale};
    wide.mask.allowed = mask.allowed;
    if (mask.added.defined()) wide.mask.added = cast<float>(mask.added);
    const Tensor<float> q = cast<float>(query), k = cast<float>(key), v = cast<float>(value);
    return cast<T>(detail::attention_of(q, k, v, wide, scale));
  }
}

}  // namespace kiln
