// SPDX-License-Identifier: BSL-1.0
// Embedding: a learned row for each number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <kiln/nn/init.hpp>
#include <kiln/nn/layers/layer.hpp>
#include <kiln/tensor/indexing.hpp>

namespace kiln::nn {

/// What Embedding may be told.
struct embedding_options {
  std::optional<std::int64_t> padding_idx = std::nullopt;  ///< a row that begins with zeros and is not learned
};

namespace detail {
template <Element T, class D>
Tensor<T, D> embedding_rows(std::int64_t n, std::int64_t size, const embedding_options& options) {
  auto rows = init::normal<T, D>({n, size});
  if (!options.padding_idx) return rows;
  const std::int64_t p = *options.padding_idx;
  if (p < 0 || p >= n) throw index_error(message("Embedding: a padding_idx of ", p, " is outside [0, ", n, ")"));
  rows.detach().select(0, p).fill_(T(0));
  return rows;
}
}  // namespace detail

/// The row of `weight` (num_embeddings, embedding_dim) for each number of the input: torch.nn.Embedding. Rows begin
/// normal with mean 0 and deviation 1.
template <Element T = float, class D = Cpu>
struct Embedding {
  std::int64_t num_embeddings = 0, embedding_dim = 0;
  embedding_options options{};
  Tensor<T, D> weight = detail::embedding_rows<T, D>(num_embeddings, embedding_dim, options);

  /// (..., embedding_dim) for numbers (...). Throws index_error for a number outside [0, num_embeddings).
  template <Expression I>
  Tensor<T, D> operator()(const I& numbers) const {
    const auto at = kiln::detail::as_tensor(numbers);
    dims sizes = at.sizes();
    sizes.push_back(embedding_dim);
    Tensor<T, D> rows = index_select(weight, 0, at.reshape(at.numel()));
    // The padding's rows go through without their history.
    if (options.padding_idx)
      rows = where(unsqueeze(at.reshape(at.numel()) == *options.padding_idx, 1), rows.detach(), rows);
    return detail::watched(this, rows.reshape(sizes));
  }
  std::string settings() const {
    return detail::settings_text("", num_embeddings, "", embedding_dim) +
           (options.padding_idx ? ", " + detail::settings_text("padding_idx", *options.padding_idx) : "");
  }
};

#ifdef KILN_COMPILED  // in src/models.cpp
extern template Tensor<float> Embedding<float, Cpu>::operator()(const Tensor<std::int64_t>&) const;
#endif

}  // namespace kiln::nn
