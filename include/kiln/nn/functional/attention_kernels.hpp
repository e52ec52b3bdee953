// SPDX-License-Identifier: BSL-1.0
// What a device may have for scaled_dot_product_attention: kernels that hold no matrix of scores. Without them it is
// the products and the softmax between them.
#pragma once

#include <array>
#include <optional>

#include <kiln/core/attention_job.hpp>
#include <kiln/tensor/gradient_target.hpp>

namespace kiln {

/// Where the gradients of queries, keys and values go, those that are wanted.
using attention_targets = std::array<std::optional<detail::gradient_target>, 3>;

/// A device with kernels says `any`, and as static functions:
///   takes<T>()                   whether they compute elements of type T
///   fits(job, near)              whether they take this job, near some memory
///   forward<T>(job, out, logsumexp, near)
///                                the results, and for each query the logarithm of the sum of the exponentials of its
///                                scores, as a compute_t<T>
///   backward<T>(job, out, logsumexp, dout, targets, near)
///                                the gradients, given those two and that of the results
template <class Device>
struct attention_kernels {
  static constexpr bool any = false;
};

}  // namespace kiln
