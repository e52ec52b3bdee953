// SPDX-License-Identifier: BSL-1.0
// scaled_dot_product_attention. Where a device has kernels for it (attention_kernels.hpp) it never holds the matrix of
// scores: beside its operands and its result it keeps one number for each query. The processor's stand in
// device/cpu/products/attention.hpp, those of Cuda in kernels/attention.cuh. Elsewhere it is the products and the
// softmax between them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <kiln/core/attention_job.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/nn/functional/attention_kernels.hpp>
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
/// to (..., queries, keys).
template <Element T, class D>
struct attention_mask {
  Tensor<T, D> added{};
  Tensor<bool, D> allowed{};
  attention_mask() = default;
  attention_mask(Tensor<T, D> numbers) : added(std::move(numbers)) {}
  attention_mask(Tensor<bool, D> seen) : allowed(std::move(seen)) {}
  template <Expression M>
    requires(!Leaf<M>)
  attention_mask(const M& mask) : attention_mask(detail::as_tensor(mask)) {}
};

/// What scaled_dot_product_attention may be told.
template <Element T, class D>
struct scaled_attention_options {
  bool causal = false;            ///< query i sees the keys up to i alone
  attention_mask<T, D> mask{};    ///< none: all keys are seen
  double dropout = 0;             ///< the share of weights that become 0; the others make up for it
  std::optional<double> scale{};  ///< of the products; none: 1 / sqrt(width of the queries)
};

template <>
struct attention_kernels<Cpu> {
  static constexpr bool any = true;
  template <class T>
  static constexpr bool takes() {
    return std::is_same_v<T, float> || std::is_same_v<T, double>;
  }
  static constexpr bool fits(const attention_job&, const storage&) { return true; }
  template <class T>
  static void forward(const attention_job& job, T* out, T* logsumexp, const storage&) {
    cpu::drivers::attention(job, out, logsumexp);
  }
  template <class T>
  static void backward(const attention_job& job, const T* out, const T* logsumexp, const T* dout,
                       attention_targets& targets, const storage&) {
    T* to[3] = {};
    for (std::size_t i = 0; i < 3; ++i)
      if (targets[i]) to[i] = static_cast<T*>(targets[i]->added(detail::functions_of<Cpu>).data);
    cpu::drivers::attention_backward(job, out, logsumexp, dout, to[0], to[1], to[2]);
  }
};

namespace detail {

/// Matrices as the job wants them, of a tensor of their strides.
inline matrix_places places_of(const void* data, const dims& strides) {
  matrix_places at{.data = data};
  const int leading = strides.rank() - 2;
  for (int i = 0; i < leading; ++i) at.strides.push_back(strides[i]);
  at.row = strides[leading], at.column = strides[leading + 1];
  return at;
}

template <class T, class D>
class attention_node final : public op_node_of<3, 7> {
 public:
  using operands = std::array<const tensor_state*, 7>;  // q, k, v, result, logsumexp, masks or null
  attention_node(const attention_job& job, const operands& kept, std::array<ref<gradient_record>, 3> records)
      : op_node_of(functions_of<D>), job_(job) {
    for (std::size_t i = 0; i < 3; ++i) input[i] = std::move(records[i]);
    for (std::size_t i = 0; i < 7; ++i)
      if (kept[i]) saved[i].save(*kept[i]);
  }
  const char* name() const override { return "scaled_dot_product_attention"; }
  void backward(const ref<tensor_state>& gradient) override {
    const storage& near = *gradient->memory;
    check_saved(near);
    attention_targets targets;
    for (int i = 0; i < 3; ++i)
      if (wants(i)) targets[static_cast<std::size_t>(i)].emplace(target(i, near));
    attention_kernels<D>::template backward<T>(job_, static_cast<const T*>(saved[3].data),
                                               static_cast<const compute_t<T>*>(saved[4].data),
                                               static_cast<const T*>(gradient->data), targets, near);
  }

 private:
  attention_job job_;
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

/// By the device's kernels; `job` says all but where masks lie and what is drawn.
template <class T, class D>
Tensor<T, D> blockwise_attention(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v,
                                 const scaled_attention_options<T, D>& options, attention_job job) {
  const bool recorded = grad_enabled();
  const no_grad quiet;  // the mask is expanded here; the operands are read where they are
  const int last = q.sizes().rank() - 1;
  dims scores = q.sizes(), result = q.sizes(), each = q.sizes();
  scores[last] = job.keys, result[last] = job.value_width, each.erase(last);
  if (options.dropout > 0)
    job.stream =
        default_generator().take(static_cast<std::uint64_t>(job.matrices * job.queries * job.blocks_per_row()));
  auto out = new_output(q, result), logsumexp = executor<D>::new_tensor(dtype_of<compute_t<T>>, each, *out->memory);
  const storage& near = *out->memory;
  Tensor<T, D> added;
  Tensor<bool, D> allowed;
  if (options.mask.added.defined()) {
    added = expand(options.mask.added, scores);
    job.added = places_of(added.data(), added.strides());
    executor<D>::check_operand(*added.state()->memory, near);
  }
  if (options.mask.allowed.defined()) {
    allowed = expand(options.mask.allowed, scores);
    job.allowed = places_of(allowed.data(), allowed.strides());
    executor<D>::check_operand(*allowed.state()->memory, near);
  }
  for (const auto* x : {&q, &k, &v}) executor<D>::check_operand(*x->state()->memory, near);
  if (count(result) > 0)
    attention_kernels<D>::template forward<T>(job, static_cast<T*>(out->data),
                                              static_cast<compute_t<T>*>(logsumexp->data), near);
  std::array<ref<gradient_record>, 3> records{q.state()->autograd_metadata, k.state()->autograd_metadata,
                                              v.state()->autograd_metadata};
  if (!recorded || !(records[0] || records[1] || records[2])) return Tensor<T, D>(std::move(out));
  const auto if_any = [](const auto& x) { return x.defined() ? x.state().get() : nullptr; };
  const typename attention_node<T, D>::operands kept{q.state().get(), k.state().get(), v.state().get(), out.get(),
                                                     logsumexp.get(), if_any(added),   if_any(allowed)};
  graph_node* const node = new attention_node<T, D>(job, kept, std::move(records));
  return with_producer<T, D>(std::move(out), node);
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

/// By the device's kernels, if it has some that take these operands; else composed.
template <class T, class D>
Tensor<T, D> attention_of(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v,
                          const scaled_attention_options<T, D>& options, double scale) {
  const dims& sizes = q.sizes();
  const int last = sizes.rank() - 1;
  attention_job job{.type = dtype_of<T>,
                    .matrices = 1,
                    .queries = sizes[last - 1],
                    .keys = k.sizes()[last - 1],
                    .width = sizes[last],
                    .value_width = v.sizes()[last],
                    .q = places_of(q.data(), q.strides()),
                    .k = places_of(k.data(), k.strides()),
                    .v = places_of(v.data(), v.strides()),
                    .causal = options.causal,
                    .scale = scale,
                    .dropout = options.dropout};
  // Results without elements may have more matrices than can be counted.
  bool nothing = job.value_width == 0;
  for (int i = 0; i < last; ++i) nothing = nothing || sizes[i] == 0;
  if (nothing) return composed_attention(q, k, v, options, scale);
  for (int i = 0; i < last - 1; ++i) job.stack.push_back(sizes[i]), job.matrices *= sizes[i];
  if (!attention_kernels<D>::fits(job, *q.state()->memory)) return composed_attention(q, k, v, options, scale);
  return blockwise_attention(q, k, v, options, job);
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template class attention_node<float, Cpu>;
extern template Tensor<float> attention_of(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                           const scaled_attention_options<float, Cpu>&, double);
extern template Tensor<float> composed_attention(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                                 const scaled_attention_options<float, Cpu>&, double);
#endif

}  // namespace detail

/// softmax(scale q k^T + mask) v for queries (..., L, E), keys (..., S, E) and values (..., S, V): torch's function of
/// the name. No matrix of scores is ever held on the processor, nor on Cuda for E and V of up to 128: memory grows with
/// L + S, but for up to 1 GiB of workspace while cuDNN goes back in half types; it has no second derivative there
/// (graph_error). Wider, or on another device, the scores are a tensor. A query that sees no key gets zeros. The mask
/// has no gradient. half and bfloat16 are summed in float, on Cuda by tensor cores, for which weights are rounded to
/// the type. Throws shape_error where sizes do not fit, value_error for a dropout outside [0, 1], graph_error for a
/// mask that asks for its gradient.
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
  if (mask.added.defined() && grad_enabled() && mask.added.state()->autograd_metadata)
    throw graph_error(
        "scaled_dot_product_attention: the mask asks for a gradient and has none here: detach() it, or write the "
        "softmax between the products yourself");
  const double scale = options.scale ? *options.scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  if constexpr (!attention_kernels<D>::any) {
    return detail::composed_attention(query, key, value, options, scale);
  } else if constexpr (attention_kernels<D>::template takes<T>()) {
    return detail::attention_of(query, key, value, options, scale);
  } else {
    scaled_attention_options<float, D> wide{options.causal, {}, options.dropout, scale};
    wide.mask.allowed = mask.allowed;
    if (mask.added.defined()) wide.mask.added = cast<float>(mask.added);
    const Tensor<float, D> q = cast<float>(query), k = cast<float>(key), v = cast<float>(value);
    return cast<T>(detail::attention_of(q, k, v, wide, scale));
  }
}

/// The same of queries that are still to be computed.
template <Expression Q>
  requires(!Leaf<Q>)
auto scaled_dot_product_attention(
    const Q& query, const Tensor<typename Q::value_type, typename Q::device_type>& key,
    const Tensor<typename Q::value_type, typename Q::device_type>& value,
    const scaled_attention_options<typename Q::value_type, typename Q::device_type>& options = {}) {
  return scaled_dot_product_attention(detail::as_tensor(query), key, value, options);
}

}  // namespace kiln
