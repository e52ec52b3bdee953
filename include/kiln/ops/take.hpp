// SPDX-License-Identifier: BSL-1.0
// Ops on where an element lies rather than on its value (leaf_kind::address): what gathers within expressions are made
// of. No user calls them by these names.
#pragma once

#include <kiln/ops/op.hpp>

namespace kiln {

namespace detail {
/// Takes an address, so nobody can apply it to tensors.
struct of_address : elementwise<2> {
  static constexpr bool accepts(dtype) { return false; }
  static constexpr dtype result(dtype d) { return d; }
};
}  // namespace detail

/// An index, after a look whether it is one for an axis of so many elements.
struct checked_index_op : detail::of_address {
  static constexpr std::string_view name = "checked_index";
  static constexpr auto value(auto index, auto size) { return checked_index(index, size); }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// The element so many elements further on. Its gradient is that of the values taken, not yet added up per element.
struct take_op : detail::of_address {
  static constexpr std::string_view name = "take";
  static constexpr bool expensive = true;  // a row program reads it once
  static constexpr auto value(auto way, auto address) { return taken(way, address); }
  static constexpr auto adjoint(auto g, auto, auto, auto) { return adjoints{no_gradient{}, g}; }
};

}  // namespace kiln
