// SPDX-License-Identifier: BSL-1.0
// ctc_loss, connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber 2006): minus the logarithm of
// the probability of all ways in which a sequence of labels, with blanks between and repetitions, fills the times. Sums
// forward and backward over the ways give both the loss and its gradient; they are done on the host, in double.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/device/cpu/threads/threads.hpp>
#include <kiln/nn/functional/window.hpp>
#include <kiln/nn/loss/reduction.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/transfer.hpp>

namespace kiln::nn {

/// What ctc_loss may be told.
struct ctc_options {
  std::int64_t blank = 0;                         ///< the class that stands for no label
  nn::reduction reduction = nn::reduction::mean;  ///< the mean of losses each divided by its number of labels
  bool zero_infinity = false;  ///< a sequence too short for its labels has no loss, and no gradient, in place of inf
};

namespace detail {

inline double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return most == -std::numeric_limits<double>::infinity() ? most : most + std::log1p(std::exp(std::min(a, b) - most));
}

/// One sequence: logarithms of probabilities at `time` x class, its labels, and what is found of it.
template <class T>
struct ctc_sequence {
  const T* at;
  std::int64_t row, times;  // elements from one time to the next; how many there are
  const std::int64_t* labels;
  std::int64_t count, blank;

  /// Of the labels with blanks between and around.
  std::int64_t label(std::int64_t s) const { return s % 2 ? labels[s / 2] : blank; }
  /// Whether a way may come to place s from two before it: past a blank, to another label.
  bool skips(std::int64_t s) const { return s >= 2 && s % 2 && label(s) != label(s - 2); }
  double log_probability(std::int64_t t, std::int64_t s) const { return static_cast<double>(at[t * row + label(s)]); }

  /// The loss. `share` (times, classes; `row` apart), if not null, gets how likely each class is at each time, given
  /// the labels: minus the gradient.
  double loss(T* share) const {
    constexpr double never = -std::numeric_limits<double>::infinity();
    const std::int64_t places = 2 * count + 1;
    if (times == 0) return count == 0 ? 0 : -never;
    std::vector<double> forward(static_cast<std::size_t>(times * places), never);
    const auto f = [&](std::int64_t t, std::int64_t s) -> double& {
      return forward[static_cast<std::size_t>(t * places + s)];
    };
    f(0, 0) = log_probability(0, 0);
    if (count > 0) f(0, 1) = log_probability(0, 1);
    for (std::int64_t t = 1; t < times; ++t)
      for (std::int64_t s = 0; s < places; ++s) {
        double ways = f(t - 1, s);
        if (s >= 1) ways = log_sum(ways, f(t - 1, s - 1));
        if (skips(s)) ways = log_sum(ways, f(t - 1, s - 2));
        f(t, s) = ways + log_probability(t, s);
      }
    const double all = count > 0 ? log_sum(f(times - 1, places - 1), f(times - 1, places - 2)) : f(times - 1, 0);
    if (!share) return -all;
    std::vector<double> next(static_cast<std::size_t>(places), never), now(next);
    for (std::int64_t t = times - 1; t >= 0; --t) {
      for (std::int64_t s = 0; s < places; ++s) {
        const auto b = [&](std::int64_t place) { return next[static_cast<std::size_t>(place)]; };
        double ways = t == times - 1 ? (s + 2 >= places ? 0 : never) : b(s);
        if (t < times - 1 && s + 1 < places) ways = log_sum(ways, b(s + 1));
        if (t < times - 1 && s + 2 < places && skips(s + 2)) ways = log_sum(ways, b(s + 2));
        // The way from here on, without what is seen here, which the way up to here has.
        const double here = f(t, s) + ways - all;
        if (f(t, s) != never && ways != never) share[t * row + label(s)] += static_cast<T>(std::exp(here));
        now[static_cast<std::size_t>(s)] = ways + log_probability(t, s);
      }
      std::swap(now, next);
    }
    return -all;
  }
};

/// Keeps the gradient by the logarithms, which each loss's own multiplies.
template <class T>
class ctc_node final : public kiln::detail::op_node_of<1, 1> {
 public:
  ctc_node(const tensor_state& shares, ref<gradient_record> record)
      : kiln::detail::op_node_of<1, 1>(kiln::detail::functions_of<Cpu>) {
    input[0] = std::move(record);
    saved[0].save(shares);
  }
  const char* name() const override { return "ctc_loss"; }
  void backward(const ref<tensor_state>& gradient) override {
    check_saved(*gradient->memory);
    kiln::detail::gradient_target into = target(0, *gradient->memory);
    T* const to = static_cast<T*>(into.added(device()).data);
    const T *const share = static_cast<const T*>(saved[0].data), *const g = static_cast<const T*>(gradient->data);
    const std::int64_t times = saved[0].sizes[0], batch = saved[0].sizes[1], classes = saved[0].sizes[2];
    for (std::int64_t i = 0; i < times * batch; ++i)
      for (std::int64_t c = 0; c < classes; ++c)
        // A class that has no part adds nothing, also where the loss has no gradient that is a number.
        if (share[i * classes + c] != 0) to[i * classes + c] -= g[i % batch] * share[i * classes + c];
  }
};

/// Where each sequence's labels begin, and how many there are in all rows; refuses what does not fit.
inline std::vector<std::int64_t> checked_labels(const dims& sizes, const Tensor<std::int64_t>& targets,
                                                std::span<const std::int64_t> times,
                                                std::span<const std::int64_t> counts, std::int64_t blank) {
  const std::int64_t batch = sizes[1], classes = sizes[2];
  const auto refuse = [&](const auto&... why) { throw shape_error(message("ctc_loss: ", why...)); };
  if (blank < 0 || blank >= classes)
    throw index_error(message("ctc_loss: the blank, class ", blank, ", is outside [0, ", classes, ")"));
  if (std::cmp_not_equal(times.size(), batch) || std::cmp_not_equal(counts.size(), batch))
    refuse("logarithms of shape ", sizes, ", ", times.size(), " input lengths and ", counts.size(),
           " target lengths: there must be one of each for the ", batch, " sequences");
  std::vector<std::int64_t> begins;
  std::int64_t in_all = 0;
  for (std::int64_t i = 0; i < batch; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    if (times[at] < 0 || times[at] > sizes[0]) refuse("an input length of ", times[at], " of ", sizes[0], " times");
    if (counts[at] < 0 || (targets.dim() == 2 && counts[at] > targets.size(1)))
      refuse("a target length of ", counts[at], " and targets of shape ", targets.sizes());
    begins.push_back(targets.dim() == 2 ? i * targets.size(1) : in_all);
    in_all += counts[at];
  }
  if (targets.dim() == 2 ? targets.size(0) != batch : targets.dim() != 1 || targets.size(0) != in_all)
    refuse("targets of shape ", targets.sizes(), " for ", batch, " sequences of ", in_all,
           " labels in all: they must be (sequences, labels), or all labels one after the other");
  for (std::int64_t i = 0; i < batch; ++i)
    for (std::int64_t k = 0; k < counts[static_cast<std::size_t>(i)]; ++k) {
      const std::int64_t label = targets.data()[begins[static_cast<std::size_t>(i)] + k];
      if (label < 0 || label >= classes || label == blank)
        throw index_error(message("ctc_loss: label ", label, " of sequence ", i, " is ",
                                  label == blank ? "the blank" : "outside [0, ", label == blank ? "" : message(classes),
                                  label == blank ? "" : ")", ": check the targets"));
    }
  return begins;
}

/// The loss of each sequence.
template <class T>
Tensor<T> ctc_losses(const Tensor<T>& log_probabilities, const Tensor<std::int64_t>& targets,
                     std::span<const std::int64_t> times, std::span<const std::int64_t> counts,
                     const ctc_options& options) {
  const dims sizes = log_probabilities.sizes();
  const std::vector<std::int64_t> begins = checked_labels(sizes, targets, times, counts, options.blank);
  auto out = kiln::detail::new_output(log_probabilities, {sizes[1]});
  const Tensor<T> rows = kiln::detail::in_one_piece(log_probabilities, *out);
  const ref<gradient_record> record = log_probabilities.state()->autograd_metadata;
  const bool recorded = grad_enabled() && record;
  const Tensor<T> shares = recorded ? zeros<T>(sizes) : Tensor<T>();
  cpu::parallel_for(sizes[1], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      const ctc_sequence<T> one{rows.data() + i * sizes[2],  sizes[1] * sizes[2], times[at],
                                targets.data() + begins[at], counts[at],          options.blank};
      T* const share = recorded ? shares.data() + i * sizes[2] : nullptr;
      double loss = one.loss(share);
      if (std::isinf(loss) && loss > 0) {
        // No way leads through: there is no gradient.
        if (options.zero_infinity) loss = 0;
        for (std::int64_t t = 0; share && t < times[at]; ++t)
          std::fill_n(share + t * one.row, sizes[2],
                      options.zero_infinity ? T(0) : std::numeric_limits<T>::quiet_NaN());
      }
      static_cast<T*>(out->data)[i] = static_cast<T>(loss);
    }
  });
  if (!recorded) return Tensor<T>(std::move(out));
  graph_node* const node = new ctc_node<T>(*shares.state(), record);
  return kiln::detail::with_producer<T, Cpu>(std::move(out), node);
}

}  // namespace detail

/// Minus the logarithm of the probability of the labels, given those of each class at each time, log_probabilities
/// (T, N, C) as log_softmax gives them, or (T, C) of one sequence: torch's ctc_loss. `targets` (N, S) holds the labels
/// of each sequence, or (sum of target_lengths) all one after the other; the lengths (N) say how many times and labels
/// a sequence has. The mean is over losses divided by their numbers of labels. It has no second derivative
/// (graph_error). (PyTorch's gradient by the logarithms has their softmax added, which log_softmax's own gradient takes
/// away again; this one has not.) Throws shape_error where sizes and lengths do not fit, index_error for a label that
/// is the blank or outside [0, C).
template <Element T, class D>
Tensor<T, D> ctc_loss(const Tensor<T, D>& log_probabilities, const Tensor<std::int64_t, D>& targets,
                      const Tensor<std::int64_t, D>& input_lengths, const Tensor<std::int64_t, D>& target_lengths,
                      const ctc_options& options = {}) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "kiln: ctc_loss needs float or double: cast<float>() the logarithms");
  const dims sizes = log_probabilities.sizes();
  if (sizes.rank() != 2 && sizes.rank() != 3)
    throw shape_error(message("ctc_loss: logarithms of shape ", sizes,
                              ": they must be (times, sequences, classes), or "
                              "(times, classes) of one"));
  const auto host = [](const auto& x) { return x.template to<Cpu>().contiguous(); };
  const Tensor<T> rows = (sizes.rank() == 2 ? log_probabilities.unsqueeze(1) : log_probabilities).template to<Cpu>();
  const Tensor<std::int64_t> labels = host(targets), times = host(input_lengths), counts = host(target_lengths);
  const Tensor<T> losses = detail::ctc_losses(rows, labels, times.span(), counts.span(), options);
  const auto placed = [&](const Tensor<T>& y) -> Tensor<T, D> { return y.to(D(log_probabilities.device())); };
  if (options.reduction == nn::reduction::none) return placed(sizes.rank() == 2 ? losses.squeeze(0) : losses);
  if (options.reduction == nn::reduction::sum) return placed(Tensor<T>(sum(losses)));
  return placed(Tensor<T>(mean(losses / cast<T>(maximum(counts.reshape({-1}), 1)))));
}

/// The same of logarithms that are still to be computed, as log_softmax gives them.
template <Expression X>
  requires(!Leaf<X>)
auto ctc_loss(const X& log_probabilities, const Tensor<std::int64_t, typename X::device_type>& targets,
              const Tensor<std::int64_t, typename X::device_type>& input_lengths,
              const Tensor<std::int64_t, typename X::device_type>& target_lengths, const ctc_options& options = {}) {
  return ctc_loss(kiln::detail::as_tensor(log_probabilities), targets, input_lengths, target_lengths, options);
}

}  // namespace kiln::nn
