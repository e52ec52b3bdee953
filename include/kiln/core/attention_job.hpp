// SPDX-License-Identifier: BSL-1.0
// What attention asks of a device: for each query, the values mixed by softmax of the products of the query and all
// keys, scaled and masked. A description; nothing here computes.
#pragma once

#include <cstdint>
#include <vector>

#include <kiln/core/philox.hpp>

namespace kiln {

/// A stack of matrices in memory: row r and column c of number i stand at data[offsets[i] + r * row + c * column].
template <class T>
struct matrix_places {
  const T* data = nullptr;
  std::vector<std::int64_t> offsets = {};
  std::int64_t row = 0, column = 0;
};

/// One softmax(scale q k^T + mask) v for each matrix of the stacks. Results are contiguous.
template <class T>
struct attention_job {
  std::int64_t matrices = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  matrix_places<T> q = {}, k = {}, v = {};
  matrix_places<T> added = {};       ///< to the scores; no data: nothing
  matrix_places<bool> allowed = {};  ///< keys that a query sees; no data: all
  bool causal = false;               ///< query i sees the keys up to i
  T scale = 1;
  double dropout = 0;         ///< the share of weights that become 0
  random_stream stream = {};  ///< of them; each row of scores begins a block
  /// Blocks of the stream that one row of scores takes.
  std::int64_t blocks_per_row() const { return (keys + 3) / 4; }
};

}  // namespace kiln
