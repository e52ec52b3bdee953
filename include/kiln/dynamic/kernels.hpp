// SPDX-License-Identifier: BSL-1.0
// What the static functions know by an element type, as tables by dtype: how elements are copied and gradients added.
#pragma once

#include <type_traits>

#include <kiln/dynamic/device.hpp>
#include <kiln/dynamic/visit.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::dynamic::graph {

/// What copies elements of a type.
inline const detail::runnable& copying_kernel(dtype type, device where) {
  if (!where.on_host()) return cuda_driver().copying(type);
  return with_type(type, []<class T>(std::type_identity<T>) -> const detail::runnable& {
    return detail::runnable_of<detail::value_program<Tensor<T>>, Cpu>;
  });
}
/// What copies or adds gradients of a type; null for types without.
inline const detail::runnable* adding_kernel(dtype type, device where) {
  if (!where.on_host()) return cuda_driver().adding(type);
  return with_type(type, []<class T>(std::type_identity<T>) { return detail::adding_kernel<T, Cpu>(); });
}

/// What gathers and scatters elements of a type.
inline const detail::index_functions& index_functions(dtype type, device where) {
  if (!where.on_host()) return cuda_driver().index(type);
  return with_type(type, []<class T>(std::type_identity<T>) -> const detail::index_functions& {
    return detail::index_functions_of<T, Cpu>;
  });
}

}  // namespace kiln::dynamic::graph
