// SPDX-License-Identifier: BSL-1.0
// What becomes of the losses of single elements: their mean, their sum, or themselves.
#pragma once

#include <kiln/autograd/node.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::nn {

/// What a loss gives: the mean over all elements, their sum, or one number for each.
enum class reduction { mean, sum, none };

/// What a loss without parameters may be told.
struct loss_options {
  nn::reduction reduction = nn::reduction::mean;  ///< what becomes of the losses of single elements
};

namespace detail {

/// The losses of single elements, reduced. Mean and sum are one kernel, so each loss compiles two.
template <Expression E>
auto reduced(const E& losses, reduction how, double elements) {
  using Result = Tensor<typename E::value_type, typename E::device_type>;
  if (how == reduction::none) return Result(losses);
  return Result(sum(losses) * (how == reduction::mean ? 1 / elements : 1));
}
template <Expression E>
auto reduced(const E& losses, reduction how) {
  return reduced(losses, how, static_cast<double>(count(shape_of(losses))));
}

/// Throws shape_error unless input and target have one shape: a loss that broadcast by accident would be a wrong one.
template <Expression X, Expression Y>
void expect_same_shape(const X& input, const Y& target, const char* where) {
  const dims a = shape_of(input), b = shape_of(target);
  if (a != b)
    throw shape_error(message(where, ": an input of shape ", a, " and a target of shape ", b,
                              ": they must be the same (reshape or expand one of them)"));
}

}  // namespace detail

}  // namespace kiln::nn
