// SPDX-License-Identifier: BSL-1.0
// Random numbers within expressions: bernoulli and normal draw while the kernel runs, so nothing of them is stored, not
// even for a backward pass, which draws them again.
#pragma once

#include <cstdint>
#include <type_traits>

#include <kiln/core/error.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/random.hpp>
#include <kiln/tensor/virtual_leaf.hpp>

namespace kiln {

/// 1 with the probability that stands in p, else 0, in the type of p: torch.bernoulli. A probability above 1 counts as
/// 1, one below 0 or not a number as 0. Evaluated twice, the expression gives the same numbers both times.
template <Expression P>
auto bernoulli(const P& p, generator& from = default_generator()) {
  using T = typename P::value_type;
  static_assert(is_floating(dtype_of<T>), "kiln: bernoulli needs floating probabilities: cast<float>() them");
  const dims sizes = shape_of(p);
  const detail::drawn<float, typename P::device_type, leaf_kind::uniform> uniform(
      sizes, detail::device_of(p), detail::take_words(from, count(sizes), 1));
  return detail::converted<T>(uniform < p);
}

/// Numbers of normal distributions with these means and standard deviations, which broadcast; one of the two may be a
/// number: torch.normal. Gradients flow to both: that of the deviation is the number drawn. Evaluated twice, the
/// expression gives the same numbers both times. Throws value_error for a number as deviation that is below 0 or nan.
template <class M, class S>
  requires Operands<M, S>
auto normal(const M& mean, const S& deviation, generator& from = default_generator()) {
  using T = operands_t<M, S>;
  static_assert(is_floating(dtype_of<T>), "kiln: normal makes floating numbers: cast<float>() its operands");
  if constexpr (Number<S>)
    if (!(static_cast<double>(deviation) >= 0))
      throw value_error(message("normal: a deviation of ", deviation, ": use 0 or more"));
  if constexpr (Expression<M> && Expression<S>) {
    dims common = shape_of(mean);
    broadcast_into(common, shape_of(deviation), "normal");
  }
  using C = compute_t<T>;
  const auto both = mean + deviation;  // not computed: it has the shape and the device
  const dims sizes = shape_of(both);
  const detail::drawn<C, typename decltype(both)::device_type, leaf_kind::normal> numbers(
      sizes, detail::device_of(both), detail::take_words(from, count(sizes), words_of<C>));
  return detail::converted<T>(mean + deviation * numbers);
}

}  // namespace kiln
