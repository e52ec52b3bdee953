// SPDX-License-Identifier: BSL-1.0
// What the static functions know by an element type, as tables by dtype: how elements are copied and gradients added.
#pragma once

#include <type_traits>

#include <kiln/dynamic/visit.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::dynamic::graph {

/// What copies elements of a type.
inline const detail::runnable& copying_kernel(dtype type) {
  return with_type(type, []<class T>(std::type_identity<T>) -> const detail::runnable& {
    return detail::runnable_of<detail::value_program<Tensor<T>>, Cpu>;
  });
}
/// What copies or adds gradients of a type; null for types without.
inline const detail::runnable* adding_kernel(dtype type) {
  return with_type(type, []<class T>(std::type_identity<T>) { return detail::adding_kernel<T, Cpu>(); });
}

}  // namespace kiln::dynamic::graph
