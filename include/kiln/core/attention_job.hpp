// SPDX-License-Identifier: BSL-1.0
// What attention asks of a device: for each query, the values mixed by softmax of the products of the query and all
// keys, scaled and masked. A description; nothing here computes.
#pragma once

#include <cstdint>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/philox.hpp>

namespace kiln {

/// A stack of matrices in memory: row r and column c of number i stand offset(i) + r * row + c * column elements behind
/// `data`.
struct matrix_places {
  const void* data = nullptr;
  dims strides = {};  ///< of the axes in front
  std::int64_t row = 0, column = 0;

  /// Where matrix `number` begins, of a stack of these sizes.
  std::int64_t offset(std::int64_t number, const dims& stack) const {
    std::int64_t elements = 0;
    for (int i = stack.rank() - 1; i >= 0; --i) elements += number % stack[i] * strides[i], number /= stack[i];
    return elements;
  }
};

/// One softmax(scale q k^T + mask) v for each matrix of the stacks. Results are contiguous.
struct attention_job {
  dtype type = dtype::float32;  ///< of queries, keys, values and what is added
  dims stack = {};              ///< sizes of the axes in front
  std::int64_t matrices = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  matrix_places q = {}, k = {}, v = {};
  matrix_places added = {};    ///< to the scores; no data: nothing
  matrix_places allowed = {};  ///< keys that a query sees; no data: all
  bool causal = false;         ///< query i sees the keys up to i
  double scale = 1;
  double dropout = 0;         ///< the share of weights that become 0
  random_stream stream = {};  ///< of them; each row of scores begins a block
  /// Blocks of the stream that one row of scores takes.
  std::int64_t blocks_per_row() const { return (keys + 3) / 4; }
};

}  // namespace kiln
