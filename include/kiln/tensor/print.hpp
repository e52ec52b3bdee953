// SPDX-License-Identifier: BSL-1.0
// Tensors as text, laid out as PyTorch does: brackets, aligned columns, four digits, powers of ten where values differ
// widely, "..." for the middle of large tensors, and a note of what the values do not show.
#pragma once

#include <iosfwd>
#include <string>

#include <kiln/core/version.hpp>
#include <kiln/tensor/transfer.hpp>

namespace kiln {

namespace detail {
/// The text of a tensor on the host.
std::string tensor_text(const tensor_state& values, bool requires_grad);
std::ostream& put(std::ostream& out, const std::string& text);
}  // namespace detail

/// The values and what they do not show (a type other than float32, int64 and bool; gradients), as PyTorch prints
/// them: four digits, three elements from each end of an axis if there are more than 1000. An expression is evaluated.
template <Expression X>
std::string to_string(const X& x) {
  if constexpr (detail::is_transformed<X>) {
    static_assert(detail::never<X>,
                  "kiln: within vmap and jvp a tensor stands for many and is not printed: print what goes into the "
                  "function, or what it returns");
    return {};
  } else {
    if constexpr (Leaf<X>)
      if (!x.defined()) return "tensor(undefined)";
    const auto here = detail::as_tensor(x);
    return detail::tensor_text(*here.to(Cpu{}).state(), here.needs_grad());
  }
}

namespace detail {
template <Expression X>
struct printer<X> {
  static constexpr bool included = true;
  static void put(std::ostream& out, const X& x) { detail::put(out, to_string(x)); }
};
}  // namespace detail

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/print_impl.hpp>
#endif
