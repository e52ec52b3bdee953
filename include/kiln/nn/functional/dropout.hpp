// SPDX-License-Identifier: BSL-1.0
// dropout (Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov 2014) as an expression: it fuses with what stands
// around it, and no mask is stored.
#pragma once

#include <kiln/core/error.hpp>
#include <kiln/tensor/draw.hpp>

namespace kiln {

namespace detail {
/// Throws value_error for what is no probability.
inline void check_probability(double p, const char* where) {
  if (!(p >= 0 && p <= 1)) throw value_error(message(where, ": a probability of ", p, ": use one from 0 to 1"));
}
}  // namespace detail

/// Each element of x is 0 with probability p, else x / (1 - p); x itself if not `training`: torch's
/// functional.dropout. Evaluated twice, the expression drops the same elements both times. Throws value_error for a p
/// outside [0, 1].
template <Expression X>
auto dropout(const X& x, double p = 0.5, bool training = true, generator& from = default_generator()) {
  using T = typename X::value_type;
  static_assert(is_floating(dtype_of<T>), "kiln: dropout needs floating elements: cast<float>() them");
  detail::check_probability(p, "dropout");
  const dims sizes = shape_of(x);
  if (!training) p = 0;
  const random_stream stream = p > 0 ? detail::take_words(from, count(sizes), 1) : random_stream{0, no_block};
  const detail::drawn<float, decltype(detail::device_of(x)), leaf_kind::uniform> uniform(sizes, detail::device_of(x),
                                                                                         stream);
  return detail::converted<T>(where(uniform >= p, x * (p < 1 ? 1 / (1 - p) : 0), 0));
}

}  // namespace kiln
