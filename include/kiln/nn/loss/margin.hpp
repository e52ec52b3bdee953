// SPDX-License-Identifier: BSL-1.0
// Losses of distances and of orders: cosine_embedding, hinge_embedding, margin_ranking, triplet_margin, multi_margin.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/loss/reduction.hpp>

namespace kiln::nn {

/// What losses with a margin may be told; where PyTorch's default is another, the function says so.
struct margin_options {
  double margin = 0;
  nn::reduction reduction = nn::reduction::mean;
};

/// For rows (N, D) or (D) and targets 1 or -1: 1 - cos of the angle between them for 1, max(0, cos - margin) for -1:
/// torch's cosine_embedding_loss. Throws shape_error where sizes do not fit.
template <Expression A, Expression B, Expression Y>
auto cosine_embedding_loss(const A& first, const B& second, const Y& target, const margin_options& options = {}) {
  detail::expect_same_shape(first, second, "cosine_embedding_loss");
  using Result = Tensor<typename A::value_type, typename A::device_type>;
  constexpr double eps = 1e-12;  // PyTorch's, of this loss
  const Result product = sum(first * second, -1), a = sum(square(first), -1), b = sum(square(second), -1);
  detail::expect_same_shape(product, target, "cosine_embedding_loss");
  const auto cosine = product * rsqrt((a + eps) * (b + eps));
  return detail::reduced(where(target > 0, 1 - cosine, relu(cosine - options.margin)), options.reduction);
}

/// The input where the target is 1, max(0, margin - input) where it is -1; the margin is 1 unless given: torch's
/// hinge_embedding_loss. Throws shape_error for two shapes.
template <Expression X, Expression Y>
auto hinge_embedding_loss(const X& input, const Y& target, const margin_options& options = {.margin = 1}) {
  detail::expect_same_shape(input, target, "hinge_embedding_loss");
  return detail::reduced(where(target > 0, input, relu(options.margin - input)), options.reduction);
}

/// max(0, -target (first - second) + margin): torch's margin_ranking_loss. Throws shape_error for two shapes.
template <Expression A, Expression B, Expression Y>
auto margin_ranking_loss(const A& first, const B& second, const Y& target, const margin_options& options = {}) {
  detail::expect_same_shape(first, second, "margin_ranking_loss");
  return detail::reduced(relu(-target * (first - second) + options.margin), options.reduction);
}

/// What triplet_margin_loss may be told.
struct triplet_margin_options {
  double margin = 1;
  double p = 2;       ///< of the norm; infinity: the largest difference
  double eps = 1e-6;  ///< added to each difference
  bool swap = false;  ///< the negative's distance is the smaller of those from the anchor and from the positive
  nn::reduction reduction = nn::reduction::mean;
};
namespace detail {
/// (sum |x|^p)^(1/p) of rows. Where x is 0, or the norm, its derivatives are taken to be 0, as in PyTorch.
template <class T, class D>
Tensor<T, D> row_norm(const Tensor<T, D>& x, double p) {
  if (p == 2) return norm(x, -1);
  if (std::isinf(p)) return max(abs(x), -1);
  const Tensor<T, D> total = sum(where(x == 0, 0, pow(abs(x), p)), -1);
  return where(total == 0, 0, pow(total, 1 / p));
}
}  // namespace detail

/// max(0, d(anchor, positive) - d(anchor, negative) + margin) for rows (N, D), with the distance of a p-norm: torch's
/// triplet_margin_loss. Throws shape_error where sizes do not fit, value_error for a p that is not above 0.
template <Expression A, Expression P, Expression N>
auto triplet_margin_loss(const A& anchor, const P& positive, const N& negative,
                         const triplet_margin_options& options = {}) {
  detail::expect_same_shape(anchor, positive, "triplet_margin_loss");
  detail::expect_same_shape(anchor, negative, "triplet_margin_loss");
  if (!(options.p > 0)) throw value_error(message("triplet_margin_loss: a p of ", options.p, ": use more than 0"));
  using Result = Tensor<typename A::value_type, typename A::device_type>;
  auto distance = [&](const auto& a, const auto& b) -> Result {
    return detail::row_norm(Result(a - b + options.eps), options.p);
  };
  const Result near = distance(anchor, positive);
  Result far = distance(anchor, negative);
  if (options.swap) far = minimum(far, distance(positive, negative));
  return detail::reduced(relu(near - far + options.margin), options.reduction);
}

/// What multi_margin_loss may be told.
struct multi_margin_options {
  int p = 1;  ///< 1 or 2
  double margin = 1;
  nn::reduction reduction = nn::reduction::mean;
};
/// sum over the other classes j of max(0, margin - input[target] + input[j])^p / C, for scores (N, C): torch's
/// multi_margin_loss. Throws shape_error where sizes do not fit, index_error for a class number outside [0, C),
/// value_error for another p.
template <Expression X, Expression L>
auto multi_margin_loss(const X& input, const L& target, const multi_margin_options& options = {}) {
  using T = typename X::value_type;
  using D = typename X::device_type;
  if (options.p != 1 && options.p != 2)
    throw value_error(message("multi_margin_loss: a p of ", options.p, ": use 1 or 2"));
  const auto scores = kiln::detail::as_tensor(input);
  const auto labels = kiln::detail::as_tensor(kiln::detail::converted<std::int64_t>(target));
  if (scores.dim() != 2)
    throw shape_error(message("multi_margin_loss: scores of shape ", scores.sizes(), ": they must be (N, C)"));
  detail::expect_targets(scores.sizes(), labels.sizes(), 1, "multi_margin_loss");
  const std::int64_t classes = scores.size(1);
  detail::target_weight(labels.template to<Cpu>(), detail::no_weights(), classes, std::nullopt, "multi_margin_loss");
  const auto numbers = arange<std::int64_t>(std::int64_t{0}, classes, std::int64_t{1}, D(labels.device()));
  const auto own = numbers == unsqueeze(labels, 1);
  const Tensor<T, D> right = sum(where(own, scores, 0), 1, true);
  const auto over = where(own, 0, relu(options.margin - right + scores));
  const auto powered = options.p == 1 ? Tensor<T, D>(over) : Tensor<T, D>(square(over));
  const Tensor<T, D> losses = sum(powered, 1) / static_cast<double>(classes);
  return detail::reduced(losses, options.reduction);
}

}  // namespace kiln::nn
