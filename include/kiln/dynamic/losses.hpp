// SPDX-License-Identifier: BSL-1.0
// Losses by name: make_loss("mse")(input, target).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/dynamic/options.hpp>
#include <kiln/dynamic/tensor.hpp>

namespace kiln::dynamic {

/// A loss of an input and a target.
using loss_function = std::function<tensor(const tensor& input, const tensor& target)>;

/// The loss of this name: "mse", "l1", "smoothl1" (beta), "huber" (delta), "bce", "bcelogits", "ce" (ignore_index,
/// label_smoothing), "nll" (ignore_index), "kl" (log_target, batchmean), each with "reduction": mean, sum or none.
/// Targets of ce and nll are numbers of classes, of an integer type; ce also takes probabilities, of a floating one.
/// Throws value_error for an unknown name or option; the function throws as the loss of nn does.
loss_function make_loss(std::string_view name, const options& how = {});

/// nn::ctc_loss: minus the logarithm of the probability of labels, given the logarithms (T, N, C) or (T, C) of those of
/// each class at each time. Targets and lengths are of an integer type. Computed on the processor, wherever its
/// operands are. Throws as nn::ctc_loss.
tensor ctc_loss(const tensor& log_probabilities, const tensor& targets, const tensor& input_lengths,
                const tensor& target_lengths, const options& how = {});

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/losses_impl.hpp>
#endif
