// SPDX-License-Identifier: BSL-1.0
// Losses of class scores: cross_entropy of scores, nll_loss of logarithms of probabilities, for targets that are class
// numbers, or for cross_entropy probabilities.
#pragma once

#include <concepts>
#include <cstdint>
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

/// What targets say about a mean: how much they weigh together.
template <class W>
double target_weight(const Tensor<std::int64_t>& target, const Tensor<W>& weight, std::int64_t classes,
                     std::int64_t ignore, const char* loss) {
  const Tensor<std::int64_t> numbers = target.contiguous_layout() ? target : target.clone();
  double total = 0;
  for (const std::int64_t at : numbers.span()) {
    if (at == ignore) continue;
    if (at < 0 || at >= classes)
      throw index_error(message(loss, ": class ", at, " is outside [0, ", classes,
                                "): check the targets against the scores' axis 1, or name it as ignore_index"));
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
template <class T, class D>
Tensor<T, D> losses_at_classes(const Tensor<T, D>& log_probabilities, const Tensor<std::int64_t, D>& labels,
                               const Tensor<T, D>& weight, std::int64_t ignore, int axis) {
  const auto counts = labels != ignore;
  const Tensor<std::int64_t, D> at = where(counts, labels, 0);
  const Tensor<T, D> own = squeeze(gather(log_probabilities, axis, unsqueeze(at, axis)), axis);
  if (!weight.defined()) return where(counts, -own, 0);
  const Tensor<T, D> weights = index_select(weight.detach(), 0, at.reshape(at.numel())).reshape(at.sizes());
  return where(logical_and(counts, weights != 0), -own * weights, 0);
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
template <Expression X, Expression L, class T, class D>
Tensor<T, D> class_loss(const X& log_probabilities, const L& target, const Tensor<T, D>& weight,
                        const class_loss_options& options, const char* loss) {
  static_assert(std::integral<typename L::value_type> && !std::same_as<typename L::value_type, bool>,
                "kiln: class numbers are of an integer type: cast<std::int64_t>() them");
  const dims sizes = shape_of(log_probabilities);
  const auto labels = kiln::detail::as_tensor(kiln::detail::converted<std::int64_t>(target));
  const int axis = sizes.rank() > 1 ? 1 : 0;
  expect_targets(sizes, labels.sizes(), axis, loss);
  const std::int64_t classes = sizes[axis];
  if (weight.defined() && weight.sizes() != dims{classes})
    throw shape_error(message(loss, ": weights of shape ", weight.sizes(), " for scores of shape ", sizes,
                              ": they must be [", classes, "], one for each class"));
  const double total =
      target_weight(labels.template to<Cpu>(), weight.defined() ? weight.template to<Cpu>() : Tensor<T>(), classes,
                    options.ignore_index, loss);
  if constexpr (kiln::OnHost<D> && Leaf<X>) {
    if (options.label_smoothing == 0 && classes > 0)
      return reduced(losses_at_classes(log_probabilities, labels, weight, options.ignore_index, axis),
                     options.reduction, total);
  }
  dims beside = dims::filled(sizes.rank() - axis, 1);
  beside[0] = classes;
  const auto numbers =
      arange<std::int64_t>(std::int64_t{0}, classes, std::int64_t{1}, D(labels.device())).reshape(beside);
  const Tensor<T, D> weights = weight.defined() ? weight.detach().reshape(beside) : ones<T, D>({1}, D(labels.device()));
  const auto its = unsqueeze(labels, axis);
  const double others = options.label_smoothing / static_cast<double>(classes), own = 1 - options.label_smoothing;
  const Tensor<T, D> losses =
      losses_of_classes(its, numbers, weights, log_probabilities, options.ignore_index, own, others, axis);
  return reduced(losses, options.reduction, total);
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template Tensor<float> class_loss(const Tensor<float>&, const Tensor<std::int64_t>&, const Tensor<float>&,
                                         const class_loss_options&, const char*);
#endif

/// Throws value_error for a label smoothing that is none.
inline void expect_smoothing(double share) {
  if (!(share >= 0 && share <= 1))
    throw value_error(message("cross_entropy: a label_smoothing of ", share, ": use one from 0 to 1"));
}

}  // namespace detail

/// -input[target] for logarithms of probabilities (C), (N, C) or (N, C, ...) and class numbers of that shape without C,
/// times the class's weight (C): torch's nll_loss. A weight without a tensor is none. The mean is divided by the
/// weights of the targets. Throws shape_error where sizes do not fit, index_error for a class number outside [0, C).
template <Expression X, Expression L, class T, class D>
auto nll_loss(const X& log_probabilities, const L& target, const Tensor<T, D>& weight,
              class_loss_options options = {}) {
  static_assert(is_floating(dtype_of<typename X::value_type>),
                "kiln: nll_loss takes the logarithms of probabilities first, floating numbers, and then the target");
  options.label_smoothing = 0;
  return detail::class_loss(detail::held(log_probabilities), target, weight, options, "nll_loss");
}
/// The same without weights.
template <Expression X, Expression L>
auto nll_loss(const X& log_probabilities, const L& target, const class_loss_options& options = {}) {
  return nll_loss(log_probabilities, target, Tensor<typename X::value_type, typename X::device_type>(), options);
}

/// nll_loss of log_softmax(scores); or for a target of the scores' shape, which holds probabilities,
/// minus the sum over the classes of probability, weight and log_softmax(scores): torch's cross_entropy. Throws
/// shape_error where sizes do not fit, index_error for a class number outside [0, C), value_error for bad options.
template <Expression X, Expression L, class T, class D>
auto cross_entropy(const X& scores, const L& target, const Tensor<T, D>& weight,
                   const class_loss_options& options = {}) {
  static_assert(is_floating(dtype_of<typename X::value_type>),
                "kiln: cross_entropy takes the scores first, floating numbers, and then the target");
  detail::expect_smoothing(options.label_smoothing);
  const dims sizes = shape_of(scores);
  const int axis = sizes.rank() > 1 ? 1 : 0;
  if constexpr (is_floating(dtype_of<typename L::value_type>)) {
    detail::expect_same_shape(scores, target, "cross_entropy");
    if (sizes.rank() == 0) throw shape_error("cross_entropy: scores of shape []: they need an axis of classes");
    dims beside = dims::filled(sizes.rank() - axis, 1);
    beside[0] = sizes[axis];
    const double others = options.label_smoothing / static_cast<double>(sizes[axis]);
    const auto weights =
        weight.defined() ? weight.detach().reshape(beside) : ones<T, D>({1}, D(kiln::detail::device_of(scores)));
    const auto share = (target * (1 - options.label_smoothing) + others) * weights;
    const Tensor<T, D> losses = -sum(share * detail::held(log_softmax(scores, axis)), axis);
    return detail::reduced(losses, options.reduction);
  } else {
    if (sizes.rank() == 0) throw shape_error("cross_entropy: scores of shape []: they need an axis of classes");
    return detail::class_loss(detail::held(log_softmax(scores, axis)), target, weight, options, "cross_entropy");
  }
}
/// The same without weights.
template <Expression X, Expression L>
auto cross_entropy(const X& scores, const L& target, const class_loss_options& options = {}) {
  return cross_entropy(scores, target, Tensor<typename X::value_type, typename X::device_type>(), options);
}

}  // namespace kiln::nn

#ifdef KILN_COMPILED  // in src/models.cpp
extern template kiln::ref<kiln::tensor_state> kiln::detail::compute<true, false>(
    const kiln::row_node<kiln::log_softmax_op, kiln::Tensor<float>>&);
#endif
