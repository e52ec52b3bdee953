// SPDX-License-Identifier: BSL-1.0
// Attention without its matrix of scores (Dao, Fu, Ermon, Rudra, Re 2022; the running maximum is Milakov and
// Gimelshein's, 2018): a block of queries meets one block of keys after the other. Forward keeps for each query the
// logarithm of the sum of its exponentials, from which backward makes each block of weights again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <kiln/core/attention_job.hpp>
#include <kiln/device/cpu/elements/random.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

inline constexpr std::int64_t attention_queries = 64, attention_keys = 128;  // of a block

/// A row of matrix `number` of a stack.
template <class E>
const E* row_of(const matrix_places& m, const dims& stack, std::int64_t number, std::int64_t row) {
  return static_cast<const E*>(m.data) + m.offset(number, stack) + row * m.row;
}

/// A block of scores of one matrix, and what is made of it. One of each thread.
template <class T>
class attention_block {
 public:
  static constexpr int step = vector_bytes / static_cast<int>(sizeof(T));
  using vector = lanes<T, step>;
  static constexpr std::int64_t stride = attention_keys;  // a multiple of every step
  static constexpr T nothing = -std::numeric_limits<T>::infinity();

  explicit attention_block(const attention_job& job) : job_(job), weights(workspace()), slopes(workspace()) {
    if (job.dropout > 0) kept.resize(workspace()), drawn_.resize(static_cast<std::size_t>(stride));
  }

  /// Takes the queries [q0, q1) and keys [k0, k1) of matrix i: their scores, -inf where nothing is to be seen and in
  /// what a row has beyond its keys.
  void score(std::int64_t i, std::int64_t q0, std::int64_t q1, std::int64_t k0, std::int64_t k1) {
    i_ = i, q0_ = q0, q1_ = q1, k0_ = k0, k1_ = k1;
    gemm<T>(rows(), columns(), job_.width, {start<T>(job_.q, q0), job_.q.row, job_.q.column},
            {start<T>(job_.k, k0), job_.k.column, job_.k.row}, weights.data(), stride);
    const vector scale(static_cast<T>(job_.scale));
    for (std::int64_t r = 0; r < rows(); ++r) {
      T* const row = row_of(weights, r);
      for (std::int64_t c = 0; c < padded(); c += step) store(row + c, load<step>(row + c) * scale);
      // After the scale, which may be 0 or negative.
      std::fill(row + columns(), row + padded(), nothing);
      if (job_.added.data) {
        const T* const add = start<T>(job_.added, q0 + r) + k0 * job_.added.column;
        for (std::int64_t c = 0; c < columns(); ++c) row[c] += add[c * job_.added.column];
      }
      if (job_.allowed.data) {
        const bool* const see = start<bool>(job_.allowed, q0 + r) + k0 * job_.allowed.column;
        for (std::int64_t c = 0; c < columns(); ++c)
          if (!see[c * job_.allowed.column]) row[c] = nothing;
      }
      if (job_.causal) {
        const std::int64_t seen = std::clamp<std::int64_t>(q0 + r + 1 - k0, 0, columns());
        std::fill(row + seen, row + columns(), nothing);
      }
    }
  }
  /// The largest score of a row.
  T largest(std::int64_t r) const {
    const T* const row = row_of(weights, r);
    vector most(nothing);
    for (std::int64_t c = 0; c < padded(); c += step) most = maximum(most, load<step>(row + c));
    return reduce_max(most);
  }
  /// Turns the scores of a row into exp(score - base), and returns their sum.
  T exponentials(std::int64_t r, T base) {
    T* const row = row_of(weights, r);
    const vector less(base);
    vector sum(T(0));
    for (std::int64_t c = 0; c < padded(); c += step) {
      const vector e = exp(load<step>(row + c) - less);
      store(row + c, e);
      sum = sum + e;
    }
    return reduce_add(sum);
  }
  /// Draws what dropout multiplies the weights of a row with: 0, or what makes up for the others.
  void draw(std::int64_t r) {
    const std::int64_t row = (i_ * job_.queries + q0_ + r) * job_.blocks_per_row() + k0_ / 4;
    fill_uniform(drawn_.data(), columns(), {job_.stream.seed, job_.stream.first + static_cast<std::uint64_t>(row)});
    const T up = job_.dropout < 1 ? static_cast<T>(1 / (1 - job_.dropout)) : T(0);
    T* const to = row_of(kept, r);
    for (std::int64_t c = 0; c < padded(); ++c)
      to[c] = c < columns() && static_cast<double>(drawn_[static_cast<std::size_t>(c)]) >= job_.dropout ? up : T(0);
  }
  /// The larger one, or a nan.
  static T larger(T a, T b) { return a > b || a != a ? a : b; }
  static void multiply(T* to, const T* by, std::int64_t n) {
    for (std::int64_t c = 0; c < n; c += step) store(to + c, load<step>(to + c) * load<step>(by + c));
  }
  std::int64_t rows() const { return q1_ - q0_; }
  std::int64_t columns() const { return k1_ - k0_; }
  std::int64_t padded() const { return (columns() + step - 1) / step * step; }
  static T* row_of(std::vector<T>& of, std::int64_t r) { return of.data() + r * stride; }
  static const T* row_of(const std::vector<T>& of, std::int64_t r) { return of.data() + r * stride; }

 private:
  template <class E>
  const E* start(const matrix_places& m, std::int64_t row) const {
    return detail::row_of<E>(m, job_.stack, i_, row);
  }
  static std::size_t workspace() { return static_cast<std::size_t>(attention_queries * stride); }
  const attention_job& job_;
  std::int64_t i_ = 0, q0_ = 0, q1_ = 0, k0_ = 0, k1_ = 0;
  std::vector<float> drawn_;

 public:
  std::vector<T> weights, slopes, kept{};
};

/// Below which key the queries up to q1 - 1 see any.
inline std::int64_t last_key(const attention_job& job, std::int64_t q1) {
  return job.causal ? std::min(job.keys, q1) : job.keys;
}

}  // namespace detail

/// The results (matrices, queries, value_width), 0 for a query that sees no key, and for each query the logarithm of
/// the sum of the exponentials of its scores.
template <class T>
void attention(const attention_job& job, T* out, T* logsumexp) {
  const std::int64_t blocks = (job.queries + detail::attention_queries - 1) / detail::attention_queries;
  parallel_for(job.matrices * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    detail::attention_block<T> block(job);
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t i = at / blocks, q0 = at % blocks * detail::attention_queries,
                         q1 = std::min(q0 + detail::attention_queries, job.queries), width = job.value_width;
      T most[detail::attention_queries], sum[detail::attention_queries];
      std::fill_n(most, q1 - q0, block.nothing);
      std::fill_n(sum, q1 - q0, T(0));
      T* const to = out + (i * job.queries + q0) * width;
      std::fill_n(to, (q1 - q0) * width, T(0));
      const matrix_ref<const T> values{detail::row_of<T>(job.v, job.stack, i, 0), job.v.row, job.v.column};
      const std::int64_t stop = detail::last_key(job, q1);
      for (std::int64_t k0 = 0; k0 < stop; k0 += detail::attention_keys) {
        const std::int64_t k1 = std::min(k0 + detail::attention_keys, stop);
        block.score(i, q0, q1, k0, k1);
        for (std::int64_t r = 0; r < q1 - q0; ++r) {
          const T before = most[r], now = block.larger(before, block.largest(r));
          // While nothing has been seen, any base will do.
          const T base = now == block.nothing ? T(0) : now, shrunk = before == now ? T(1) : std::exp(before - base);
          most[r] = now;
          sum[r] = sum[r] * shrunk + block.exponentials(r, base);
          if (shrunk != 1)
            for (std::int64_t c = 0; c < width; ++c) to[r * width + c] *= shrunk;
          if (job.dropout > 0) {
            block.draw(r);
            block.multiply(block.row_of(block.weights, r), block.row_of(block.kept, r), block.padded());
          }
        }
        gemm<T>(q1 - q0, width, k1 - k0, {block.weights.data(), block.stride, 1},
                {values.data + k0 * values.row_stride, values.row_stride, values.column_stride}, to, width, true);
      }
      for (std::int64_t r = 0; r < q1 - q0; ++r) {
        logsumexp[i * job.queries + q0 + r] = most[r] + std::log(sum[r]);
        const T share = sum[r] == 0 ? T(0) : 1 / sum[r];
        for (std::int64_t c = 0; c < width; ++c) to[r * width + c] *= share;
      }
    }
  });
}

/// Adds the gradients of queries, keys and values, contiguous, to what stands in dq, dk and dv, each of which may be
/// null. `out` and `logsumexp` are what attention() gave, dout is the gradient of its results.
template <class T>
void attention_backward(const attention_job& job, const T* out, const T* logsumexp, const T* dout, T* dq, T* dk,
                        T* dv) {
  const std::int64_t width = job.value_width;
  const T scale = static_cast<T>(job.scale);
  // What each weight of a query's has too much: the sum of all, weighted.
  std::vector<T> common(static_cast<std::size_t>(job.matrices * job.queries));
  parallel_for(job.matrices * job.queries, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      T sum = 0;
      for (std::int64_t c = 0; c < width; ++c) sum += out[row * width + c] * dout[row * width + c];
      common[static_cast<std::size_t>(row)] = sum;
    }
  });
  // The gradients that a block of queries and one of keys have to give.
  const auto add = [&](detail::attention_block<T>& block, std::int64_t i, std::int64_t q0, std::int64_t k0, T* to_q,
                       T* to_k, T* to_v) {
    const std::int64_t q1 = std::min(q0 + detail::attention_queries, job.queries), stop = detail::last_key(job, q1),
                       k1 = std::min(k0 + detail::attention_keys, stop), rows = q1 - q0, n = k1 - k0;
    if (n <= 0) return;
    const T* const g = dout + (i * job.queries + q0) * width;
    block.score(i, q0, q1, k0, k1);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T whole = logsumexp[i * job.queries + q0 + r];
      block.exponentials(r, whole == block.nothing ? T(0) : whole);
      if (job.dropout > 0) block.draw(r);
    }
    if (to_q || to_k) {
      gemm<T>(rows, n, width, {g, width, 1}, {detail::row_of<T>(job.v, job.stack, i, k0), job.v.column, job.v.row},
              block.slopes.data(), block.stride);
      for (std::int64_t r = 0; r < rows; ++r) {
        T* const slope = block.row_of(block.slopes, r);
        const T* const weight = block.row_of(block.weights, r);
        const T less = common[static_cast<std::size_t>(i * job.queries + q0 + r)];
        if (job.dropout > 0) {
          const T* const kept = block.row_of(block.kept, r);
          for (std::int64_t c = 0; c < n; ++c) slope[c] *= kept[c];
        }
        for (std::int64_t c = 0; c < n; ++c) slope[c] = weight[c] * (slope[c] - less) * scale;
      }
    }
    if (to_v) {
      if (job.dropout > 0)
        for (std::int64_t r = 0; r < rows; ++r)
          block.multiply(block.row_of(block.weights, r), block.row_of(block.kept, r), block.padded());
      gemm<T>(n, width, rows, {block.weights.data(), 1, block.stride}, {g, width, 1},
              to_v + (i * job.keys + k0) * width, width, true);
    }
    if (to_k)
      gemm<T>(n, job.width, rows, {block.slopes.data(), 1, block.stride},
              {detail::row_of<T>(job.q, job.stack, i, q0), job.q.row, job.q.column},
              to_k + (i * job.keys + k0) * job.width, job.width, true);
    if (to_q)
      gemm<T>(rows, job.width, n, {block.slopes.data(), block.stride, 1},
              {detail::row_of<T>(job.k, job.stack, i, k0), job.k.row, job.k.column},
              to_q + (i * job.queries + q0) * job.width, job.width, true);
  };
  const std::int64_t q_step = detail::attention_queries, k_step = detail::attention_keys;
  if (job.matrices >= 8) {  // whole matrices go round among the threads, and each block is made once
    parallel_for(job.matrices, 1, [&](std::int64_t begin, std::int64_t end) {
      detail::attention_block<T> block(job);
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t k0 = 0; k0 < job.keys; k0 += k_step)
          for (std::int64_t q0 = 0; q0 < job.queries; q0 += q_step) add(block, i, q0, k0, dq, dk, dv);
    });
    return;
  }
  const std::int64_t q_blocks = (job.queries + q_step - 1) / q_step, k_blocks = (job.keys + k_step - 1) / k_step;
  if (dk || dv)
    parallel_for(job.matrices * k_blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      detail::attention_block<T> block(job);
      for (std::int64_t at = begin; at < end; ++at)
        for (std::int64_t q0 = 0; q0 < job.queries; q0 += q_step)
          add(block, at / k_blocks, q0, at % k_blocks * k_step, static_cast<T*>(nullptr), dk, dv);
    });
  if (dq)
    parallel_for(job.matrices * q_blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      detail::attention_block<T> block(job);
      for (std::int64_t at = begin; at < end; ++at)
        for (std::int64_t k0 = 0; k0 < job.keys; k0 += k_step)
          add(block, at / q_blocks, at % q_blocks * q_step, k0, dq, static_cast<T*>(nullptr), static_cast<T*>(nullptr));
    });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
