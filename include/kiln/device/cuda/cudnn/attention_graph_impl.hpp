// SPDX-License-Identifier: BSL-1.0
// The definitions of attention_graph.hpp.
#pragma once

#include <kiln/device/cuda/cudnn/attention_graph.hpp>

namespace kiln::cuda {

namespace detail {

inline constexpr auto virtual_memory = graph_memory::none;

/// What the two passes share: the scaled scores of q and k, those of keys behind a query replaced by `hidden`.
struct attention_scores {
  const attention_layout& s;
  operation_graph& graph;
  graph_dims matrix{s.batch, s.heads, s.queries, s.keys}, row{s.batch, s.heads, s.queries, 1};

  graph_tensor floats(const graph_dims& sizes) { return graph.tensor(cudnn_type::float32, sizes, virtual_memory); }
  graph_tensor rows(std::int64_t count, std::int64_t width, const std::array<std::int64_t, 3>& strides) {
    return graph.tensor(s.type, {s.batch, s.heads, count, width}, graph_dims{strides[0], strides[1], strides[2], 1});
  }
  /// (batch, heads, width, rows) of memory that holds rows.
  graph_tensor transposed(std::int64_t count, std::int64_t width, const std::array<std::int64_t, 3>& strides) {
    return graph.tensor(s.type, {s.batch, s.heads, width, count}, graph_dims{strides[0], strides[1], 1, strides[2]});
  }
  graph_tensor contiguous_rows(std::int64_t count, std::int64_t width) {
    return graph.tensor(s.type, {s.batch, s.heads, count, width});
  }
  graph_tensor apply(backend_pointwise mode, graph_tensor x, graph_tensor b) {
    const graph_tensor y = floats(matrix);
    graph.pointwise(mode, x, b, y);
    return y;
  }
  graph_tensor scaled_product(graph_tensor q, graph_tensor k, graph_tensor scale) {
    const graph_tensor product = floats(matrix);
    graph.matmul(q, k, product);
    return apply(backend_pointwise::multiply, product, scale);
  }
  graph_tensor seen(graph_tensor scores, graph_tensor hidden) {
    const auto index = [&](int axis) {
      const graph_tensor at = graph.tensor(cudnn_type::int32, matrix, virtual_memory);
      graph.pointwise(backend_pointwise::index, scores, 0, 0, at, cudnn_type::float32, axis);
      return at;
    };
    const graph_tensor query = index(2), key = index(3);
    const graph_tensor sees = graph.tensor(cudnn_type::boolean, matrix, virtual_memory), out = floats(matrix);
    graph.pointwise(backend_pointwise::greater_or_equal, query, key, 0, sees, cudnn_type::boolean);
    graph.pointwise(backend_pointwise::select, scores, hidden, sees, out);
    return out;
  }
};

}  // namespace detail

KILN_INLINE std::optional<attention_layout> cudnn_attention_layout(const attention_job& job) {
  constexpr std::int64_t widest = 128, step = 8;
  if (job.type != dtype::float16 && job.type != dtype::bfloat16) return {};
  if (job.added.data != nullptr || job.allowed.data != nullptr || job.dropout > 0) return {};
  for (const std::int64_t width : {job.width, job.value_width})
    if (width <= 0 || width > widest || width % step != 0) return {};
  if (job.matrices == 0 || job.queries == 0 || job.keys == 0 || job.stack.rank() > 2) return {};
  attention_layout s{.type = cudnn_type_of(job.type),
                     .queries = job.queries,
                     .keys = job.keys,
                     .width = job.width,
                     .value_width = job.value_width,
                     .causal = job.causal};
  const int axes = job.stack.rank();
  if (axes > 0) s.heads = job.stack[axes - 1];
  if (axes > 1) s.batch = job.stack[0];
  const auto strides = [&](const matrix_places& m, std::int64_t count, std::array<std::int64_t, 3>& out) {
    out[2] = m.row;
    out[1] = axes > 0 ? m.strides[axes - 1] : count * m.row;
    out[0] = axes > 1 ? m.strides[0] : s.heads * out[1];
    bool aligned = m.column == 1 && reinterpret_cast<std::uintptr_t>(m.data) % 16 == 0;
    for (const std::int64_t stride : out) aligned = aligned && stride > 0 && stride % step == 0;
    return aligned;
  };
  if (!strides(job.q, job.queries, s.q) || !strides(job.k, job.keys, s.k) || !strides(job.v, job.keys, s.v)) return {};
  return s;
}

KILN_INLINE attention_forward_graph::attention_forward_graph(const attention_layout& s) {
  using p = backend_pointwise;
  detail::attention_scores of{s, graph};
  q = of.rows(s.queries, s.width, s.q);
  k = of.transposed(s.keys, s.width, s.k);
  v = of.rows(s.keys, s.value_width, s.v);
  scale = graph.number(4);
  out = of.contiguous_rows(s.queries, s.value_width);
  logsumexp = graph.tensor(cudnn_type::float32, of.row);
  graph_tensor scores = of.scaled_product(q, k, scale);
  if (s.causal) {
    hidden = graph.number(4);
    scores = of.seen(scores, hidden);
  }
  const graph_tensor largest = of.floats(of.row), sum = of.floats(of.row), logarithm = of.floats(of.row);
  graph.reduce(backend_reduction::maximum, scores, largest);
  const graph_tensor distance = of.apply(p::subtract, scores, largest), weights = of.apply(p::exponential, distance, 0);
  graph.reduce(backend_reduction::add, weights, sum);
  graph.pointwise(p::logarithm, sum, 0, logarithm);
  graph.pointwise(p::add, largest, logarithm, logsumexp);
  const graph_tensor shares = graph.tensor(s.type, of.matrix, detail::virtual_memory);
  graph.pointwise(p::divide, weights, sum, shares);
  graph.matmul(shares, v, out);
}

KILN_INLINE attention_backward_graph::attention_backward_graph(const attention_layout& s, bool deterministic) {
  using p = backend_pointwise;
  detail::attention_scores of{s, graph};
  q = of.rows(s.queries, s.width, s.q);
  k = of.transposed(s.keys, s.width, s.k);
  v = of.transposed(s.keys, s.value_width, s.v);
  out = of.contiguous_rows(s.queries, s.value_width);
  dout = of.contiguous_rows(s.queries, s.value_width);
  logsumexp = graph.tensor(cudnn_type::float32, of.row);
  dq = of.contiguous_rows(s.queries, s.width);
  dk = of.contiguous_rows(s.keys, s.width);
  dv = of.contiguous_rows(s.keys, s.value_width);
  sums = graph.tensor(cudnn_type::float32, of.row);
  scale = graph.number(4);
  one = graph.number(4);
  if (s.causal) hidden = graph.number(4);
  const graph_dims turned{s.batch, s.heads, s.keys, s.queries},
      turned_strides{s.heads * s.queries * s.keys, s.queries * s.keys, 1, s.keys};
  const auto transposed = [&](graph_tensor x) {
    const graph_tensor y = graph.tensor(s.type, turned, turned_strides, detail::virtual_memory);
    graph.reshape(x, y);
    return y;
  };

  // sums = rows of dout * out, which is what the softmax's gradient subtracts.
  const graph_tensor mixed = graph.tensor(cudnn_type::float32, {s.batch, s.heads, s.queries, s.value_width},
                                          detail::virtual_memory),
                     reduced = of.floats(of.row);
  graph.pointwise(p::multiply, dout, out, mixed);
  graph.reduce(backend_reduction::add, mixed, reduced);
  graph.pointwise(p::multiply, reduced, one, sums);

  // dv = weights^T dout, with the weights made again from the forward pass's logsumexp.
  graph_tensor scores = of.apply(p::subtract, of.scaled_product(q, k, scale), logsumexp);
  if (s.causal) scores = of.seen(scores, hidden);
  const graph_tensor weights = of.apply(p::exponential, scores, 0);
  graph.matmul(transposed(weights), dout, dv);

  // The gradient of the scores: weights * (dout v^T - sums) * scale.
  const graph_tensor by_weights = of.floats(of.matrix);
  graph.matmul(dout, v, by_weights);
  const graph_tensor centred = of.apply(p::subtract, by_weights, sums),
                     by_scores = of.apply(p::multiply, of.apply(p::multiply, centred, weights), scale);
  graph.matmul(transposed(by_scores), q, dk);
  const graph_tensor keys =
      graph.tensor(s.type, {s.batch, s.heads, s.keys, s.width}, {s.k[0], s.k[1], s.k[2], 1}, detail::virtual_memory);
  graph.reshape(k, keys);
  if (deterministic) {
    graph.matmul(by_scores, keys, dq);
  } else {
    dq_sum = graph.tensor(cudnn_type::float32, {s.batch, s.heads, s.queries, s.width});
    graph.matmul(by_scores, keys, dq_sum);
    graph.pointwise(p::identity, dq_sum, 0, dq);
  }
}

}  // namespace kiln::cuda
