// SPDX-License-Identifier: BSL-1.0
// Losses of class scores: cross_entropy of scores, nll_loss of logarithms of probabilities, for targets that are class
// numbers, or for cross_entropy probabilities.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <kiln/nn/loss/reduction.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/transfer.hpp>

namespace kiln::nn {

/// What cross_entropy and nll_loss may be told.
struct class_loss_options {
  nn::reduction reduction = nn::reduction::mean;  ///< the mean is weighted where there are weights
  std::int64_t ignore_index = -100;               ///< targets of this number have no loss and count in no mean
  double label_smoothing = 0;                     ///< so much of the target goes to all classes alike; of cross_entropy
};

namespace detail {

// A call without weights, or without options, says so by types: what only they need is not compiled for it.

/// In place of a tensor of weights: each class weighs 1.
struct no_weights {
  static constexpr bool defined() { return false; }
};
/// The options of losses that are not smoothed.
struct unsmoothed_options {
  nn::reduction reduction = nn::reduction::mean;
  std::int64_t ignore_index = -100;
};

/// Weights on the host.
template <class T, class D>
Tensor<T> on_host(const Tensor<T, D>& weight) {
  return weight.defined() ? weight.template to<Cpu>() : Tensor<T>();
}
constexpr no_weights on_host(no_weights none) {
  return none;
}
/// Weights as constants of a shape, 1 where there are none.
template <class T, class D, class W>
Tensor<T, D> weights_beside(const W& weight, const dims& sizes, const D& device) {
  if constexpr (!std::same_as<W, no_weights>)
    if (weight.defined()) return weight.detach().reshape(sizes);
  return ones<T, D>({1}, device);
}

/// What targets say about a mean: how much they weigh together. Throws index_error for a class that is not there.
template <class W>
double target_weight(const Tensor<std::int64_t>& target, const W& weight, std::int64_t classes,
                     std::optional<std::int64_t> ignore, const char* loss) {
  const Tensor<std::int64_t> numbers = target.contiguous_layout() ? target : target.clone();
  double total = 0;
  for (const std::int64_t at : numbers.span()) {
    if (at == ignore) continue;
    if (at < 0 || at >= classes)
      throw index_error(message(loss, ": class ", at, " is outside [0, ", classes,
                                "): check the targets against the scores' axis 1",
                                ignore ? ", or name it as ignore_index" : ""));
    if constexpr (std::same_as<W, no_weights>)
      total += 1;
    else
      total += weight.defined() ? static_cast<double>(weight(at)) : 1;
  }
  return total;
}

/// Throws shape_error unless a target of class numbers fits scores (C), (N, C) or (N, C, ...).
inline void expect_targets(const dims& scores, const dims& target, int axis, const char* loss) {
  dims without = scores;
  if (scores.rank() > 0) without.erase(axis);
  if (scores.rank() == 0 || without != target)
    throw shape_error(message(loss, ": scores of shape ", scores, " and class numbers of shape ", target,
                              ": the numbers must have the scores' shape without the axis of classes, ",
                              scores.rank() == 0 ? dims{} : without));
}

/// The losses of class numbers `its`, beside those of all classes: `own` of a class's weight for its own, `others` for
/// each. A class that has no part in a loss adds 0, also where its logarithm is infinite.
template <class I, class N, class W, class X>
auto losses_of_classes(const I& its, const N& numbers, const W& weights, const X& log_probabilities,
                       std::int64_t ignore, double own, double others, int axis) {
  using T = typename X::value_type;
  const auto share = where(its == ignore, 0, (cast<T>(numbers == its) * own + others) * weights);
  return -sum(where(share != 0, share * log_probabilities, 0), axis);
}

/// The losses of class numbers from a tensor that holds the logarithms: of one class each, all else is not looked at.
template <class T, class D, class W>
Tensor<T, D> losses_at_classes(const Tensor<T, D>& log_probabilities, const Tensor<std::int64_t, D>& labels,
                               const W& weight, std::int64_t ignore, int axis) {
  const auto counts = labels != ignore;
  const Tensor<std::int64_t, D> at = where(counts, labels, 0);
  const Tensor<T, D> own = squeeze(gather(log_probabilities, axis, unsqueeze(at, axis)), axis);
  if constexpr (!std::same_as<W, no_weights>)
    if (weight.defined()) {
      const Tensor<T, D> weights = index_select(weight.detach(), 0, at.reshape(at.numel())).reshape(at.sizes());
      return where(logical_and(counts, weights != 0), -own * weights, 0);
    }
  return where(counts, -own, 0);
}

/// Logarithms of probabilities as losses read them: on the host a tensor. There a loss and its gradients are quicker
/// from it than in one kernel, which takes every exponential again in each of its passes; on a device one kernel is one
/// launch. Half types stay what they are, and are rounded once.
template <Expression X>
auto held(const X& log_probabilities) {
  using T = typename X::value_type;
  using D = typename X::device_type;
  if constexpr (kiln::OnHost<D> && !Leaf<X> && std::same_as<T, compute_t<T>>)
    return Tensor<T, D>(log_probabilities);
  else
    return log_probabilities;
}

/// The losses for class numbers, given the logarithms of probabilities.
template <Expression X, Expression L, class W, class Options>
Tensor<typename X::value_type, typename X::device_type> class_loss(const X& log_probabilities, const L& target,
                                                                   const W& weight, const Options& options,
                                                                   const char* loss) {
  using T = typename X::value_type;
  using D = typename X::device_type;
  constexpr bool smooths = std::same_as<Options, class_loss_options>;
  static_assert(std::integral<typename L::value_type> && !std::same_as<typename L::value_type, bool>,
                "kiln: class numbers are of an integer type: cast<std::int64_t>() them");
  const dims sizes = shape_of(log_probabilities);
  const auto labels = kiln::detail::as_tensor(kiln::detail::converted<std::int64_t>(target));
  const int axis = sizes.rank() > 1 ? 1 : 0;
  expect_targets(sizes, labels.sizes(), axis, loss);
  const std::int64_t classes = sizes[axis];
  if constexpr (!std::same_as<W, no_weights>)
    if (weight.defined() && weight.sizes() != dims{classes})
      throw shape_error(message(loss, ": weights of shape ", weight.sizes(), " for scores of shape ", sizes,
                                ": they must be [", classes, "], one for each class"));
  const double total = target_weight(labels.template to<Cpu>(), on_host(weight), classes, options.ignore_index, loss);
  constexpr bool reads_one = kiln::OnHost<D> && Leaf<X>;
  const auto of_all = [&](double smoothing) {
    dims beside = dims::filled(sizes.rank() - axis, 1);
    beside[0] = classes;
    const auto numbers =
        arange<std::int64_t>(std::int64_t{0}, classes, std::int64_t{1}, D(labels.device())).reshape(beside);
    const Tensor<T, D> weights = weights_beside<T>(weight, beside, D(labels.device()));
    const auto its = unsqueeze(labels, axis);
    const double others = smoothing / static_cast<double>(classes), own = 1 - smoothing;
    const Tensor<T, D> losses =
        losses_of_classes(its, numbers, weights, log_probabilities, options.ignore_index, own, others, axis);
    return reduced(losses, options.reduction, total);
  };
  if constexpr (smooths)
    if (!reads_one || options.label_smoothing != 0) return of_all(options.label_smoothing);
  if constexpr (reads_one) {
    // Without classes there is none to read, and no target but those left out. The kernel is that of `reduced`.
    if (classes == 0) return reduced(Tensor<T, D>(sum(log_probabilities, axis) * 1), options.reduction, total);
    return reduced(losses_at_classes(log_probabilities, labels, weight, options.ignore_index, axis), options.reduction,
                   total);
  } else {
    return of_all(0);
  }
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template Tensor<float> class_loss(const Tensor<float>&, const Tensor<std::int64_t>&, const no_weights&,
                                         const unsmoothed_options&, const char*);
extern template Tensor<float> class_loss(const Tensor<float>&, const Tensor<std::int64_t>&, const no_weights&,
                                         const class_loss_options&, const char*);
extern template Tensor<float> class_loss(const Tensor<float>&, const Tensor<std::int64_t>&, const Tensor<float>&,
                                         const class_loss_options&, const char*);
#endif

/// Throws value_error for a label smoothing that is none.
inline void expect_smoothing(double share) {
  if (!(share >= 0 && share <= 1))
    throw value_error(message("cross_entropy: a label_smoothing of ", share, ": use one from 0 to 1"));
}

/// cross_entropy, of weights or none.
template <Expression X, Expression L, class W, class Options>
auto loss_of_scores(const X& scores, const L& target, const W& weight, const Options& options) {
  using T = typename X::value_type;
  using D = typename X::device_type;
  static_assert(is_floating(dtype_of<T>),
                "kiln: cross_entropy takes the scores first, floating numbers, and then the target");
  double smoothing = 0;
  if constexpr (std::same_as<Options, class_loss_options>) expect_smoothing(smoothing = options.label_smoothing);
  const dims sizes = shape_of(scores);
  const int axis = sizes.rank() > 1 ? 1 : 0;
  if constexpr (is_floating(dtype_of<typename L::value_type>)) {
    if (shape_of(target) != sizes)
      throw shape_error(message("cross_entropy: scores of shape ", sizes, " and floating targets of shape ",
                                shape_of(target),
                                ": probabilities have the scores' shape, and class numbers an "
                                "integer type (cast<std::int64_t>() them)"));
    if (sizes.rank() == 0) throw shape_error("cross_entropy: scores of shape []: they need an axis of classes");
    dims beside = dims::filled(sizes.rank() - axis, 1);
    beside[0] = sizes[axis];
    const double others = smoothing / static_cast<double>(sizes[axis]);
    const auto weights = weights_beside<T>(weight, beside, D(kiln::detail::device_of(scores)));
    const auto share = (target * (1 - smoothing) + others) * weights;
    const Tensor<T, D> losses = -sum(share * held(log_softmax(scores, axis)), axis);
    return reduced(losses, options.reduction);
  } else {
    if (sizes.rank() == 0) throw shape_error("cross_entropy: scores of shape []: they need an axis of classes");
    return class_loss(held(log_softmax(scores, axis)), target, weight, options, "cross_entropy");
  }
}

/// Says what nll_loss takes first.
template <Expression X>
void expect_logarithms() {
  static_assert(is_floating(dtype_of<typename X::value_type>),
                "kiln: nll_loss takes the logarithms of probabilities first, floating numbers, and then the target");
}

}  // namespace detail

/// -input[target] for logarithms of probabilities (C), (N, C) or (N, C, ...) and class numbers of that shape without C,
/// times the class's weight (C): torch's nll_loss. A weight without a tensor is none. The mean is divided by the
/// weights of the targets. Throws shape_error where sizes do not fit, index_error for a class number outside [0, C).
template <Expression X, Expression L, class T, class D>
auto nll_loss(const X& log_probabilities, const L& target, const Tensor<T, D>& weight,
              class_loss_options options = {}) {
  detail::expect_logarithms<X>();
  options.label_smoothing = 0;
  return detail::class_loss(detail::held(log_probabilities), target, weight, options, "nll_loss");
}
/// The same without weights.
template <Expression X, Expression L>
auto nll_loss(const X& log_probabilities, const L& target, const class_loss_options& options = {}) {
  detail::expect_logarithms<X>();
  return detail::class_loss(detail::held(log_probabilities), target, detail::no_weights(),
                            detail::unsmoothed_options{options.reduction, options.ignore_index}, "nll_loss");
}

/// nll_loss of log_softmax(scores); or for a target of the scores' shape, which holds probabilities,
/// minus the sum over the classes of probability, weight and log_softmax(scores): torch's cross_entropy. Throws
/// shape_error where sizes do not fit, index_error for a class number outside [0, C), value_error for bad options.
template <Expression X, Expression L, class T, class D>
auto cross_entropy(const X& scores, const L& target, const Tensor<T, D>& weight,
                   const class_loss_options& options = {}) {
  return detail::loss_of_scores(scores, target, weight, options);
}
/// The same without weights; or without options, which compiles less.
template <Expression X, Expression L>
auto cross_entropy(const X& scores, const L& target, const class_loss_options& options) {
  return detail::loss_of_scores(scores, target, detail::no_weights(), options);
}
template <Expression X, Expression L>
auto cross_entropy(const X& scores, const L& target) {
  return detail::loss_of_scores(scores, target, detail::no_weights(), detail::unsmoothed_options());
}

}  // namespace kiln::nn

#ifdef KILN_COMPILED  // in src/models.cpp
extern template kiln::ref<kiln::tensor_state> kiln::detail::compute<true, false>(
    const kiln::row_node<kiln::log_softmax_op, kiln::Tensor<float>>&);
#endif
