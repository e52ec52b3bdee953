// SPDX-License-Identifier: BSL-1.0
// softmax(scale q k^T) v and its gradients in double, by plain loops over contiguous matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace attention_reference {

using numbers = std::vector<double>;

struct sizes {
  std::int64_t matrices, queries, keys, width, value_width;
  bool causal = false;
  double scale = 1;
};
struct results {
  numbers out, logsumexp, dq, dk, dv;
};

/// `dout` may be empty: then there are no gradients.
inline results attend(const sizes& s, const numbers& q, const numbers& k, const numbers& v, const numbers& dout) {
  const auto at = [](std::int64_t matrix, std::int64_t rows, std::int64_t row, std::int64_t width,
                     std::int64_t column) { return static_cast<std::size_t>((matrix * rows + row) * width + column); };
  results r{numbers(static_cast<std::size_t>(s.matrices * s.queries * s.value_width)), {}, {}, {}, {}};
  if (!dout.empty()) r.dq.resize(q.size()), r.dk.resize(k.size()), r.dv.resize(v.size());
  numbers weights(static_cast<std::size_t>(s.keys)), slopes(weights.size());
  for (std::int64_t m = 0; m < s.matrices; ++m)
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const std::int64_t seen = s.causal ? std::min(s.keys, i + 1) : s.keys;
      double largest = -INFINITY, sum = 0;
      for (std::int64_t j = 0; j < seen; ++j) {
        double& score = weights[static_cast<std::size_t>(j)] = 0;
        for (std::int64_t c = 0; c < s.width; ++c)
          score += s.scale * q[at(m, s.queries, i, s.width, c)] * k[at(m, s.keys, j, s.width, c)];
        largest = std::max(largest, score);
      }
      for (std::int64_t j = 0; j < seen; ++j) sum += std::exp(weights[static_cast<std::size_t>(j)] - largest);
      r.logsumexp.push_back(largest + std::log(sum));
      for (std::int64_t j = 0; j < seen; ++j) {
        double& w = weights[static_cast<std::size_t>(j)];
        w = std::exp(w - r.logsumexp.back());
        for (std::int64_t c = 0; c < s.value_width; ++c)
          r.out[at(m, s.queries, i, s.value_width, c)] += w * v[at(m, s.keys, j, s.value_width, c)];
      }
      if (dout.empty()) continue;
      double mean = 0;
      for (std::int64_t j = 0; j < seen; ++j) {
        double& slope = slopes[static_cast<std::size_t>(j)] = 0;
        const double w = weights[static_cast<std::size_t>(j)];
        for (std::int64_t c = 0; c < s.value_width; ++c) {
          const double d = dout[at(m, s.queries, i, s.value_width, c)];
          slope += d * v[at(m, s.keys, j, s.value_width, c)];
          r.dv[at(m, s.keys, j, s.value_width, c)] += w * d;
        }
        mean += w * slope;
      }
      for (std::int64_t j = 0; j < seen; ++j) {
        const double by_score =
            s.scale * weights[static_cast<std::size_t>(j)] * (slopes[static_cast<std::size_t>(j)] - mean);
        for (std::int64_t c = 0; c < s.width; ++c) {
          r.dq[at(m, s.queries, i, s.width, c)] += by_score * k[at(m, s.keys, j, s.width, c)];
          r.dk[at(m, s.keys, j, s.width, c)] += by_score * q[at(m, s.queries, i, s.width, c)];
        }
      }
    }
  return r;
}

}  // namespace attention_reference
