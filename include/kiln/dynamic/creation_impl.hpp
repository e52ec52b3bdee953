// SPDX-License-Identifier: BSL-1.0
// The definitions of creation.hpp.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstring>
#include <type_traits>

#include <kiln/dynamic/creation.hpp>
#include <kiln/tensor/creation.hpp>

namespace kiln::dynamic {

KILN_INLINE tensor empty(const dims& sizes, dtype type, device where) {
  check_device(where);
  if (where.on_host()) return tensor::of(new_tensor(type, sizes));
  return tensor::of(graph::cuda_driver().new_tensor(type, sizes, where.index), where);
}
KILN_INLINE tensor from_host(dtype type, const dims& sizes, const void* data, device where) {
  if (!where.on_host()) return check_device(where), from_host(type, sizes, data).to(where);
  const tensor made = empty(sizes, type);
  const auto n = static_cast<std::size_t>(made.numel());
  if (n == 0) return made;
  if (!data) throw value_error(message("from_host: no memory for the elements of ", name(type), sizes));
  void* const to = made.state()->data;
  if (type == dtype::boolean)
    std::transform(static_cast<const unsigned char*>(data), static_cast<const unsigned char*>(data) + n,
                   static_cast<bool*>(to), [](unsigned char byte) { return byte != 0; });
  else
    std::memcpy(to, data, n * size_of(type));
  return made;
}
namespace graph {

template <Number V>
tensor filled_with(const dims& sizes, V value, dtype type) {
  return with_type(type, [&]<class T>(std::type_identity<T>) { return tensor(kiln::full<T>(sizes, value)); });
}
KILN_INLINE tensor filled(const dims& sizes, double value, dtype type) {
  return filled_with(sizes, value, type);
}
KILN_INLINE tensor filled(const dims& sizes, std::int64_t value, dtype type) {
  return filled_with(sizes, value, type);
}

template <Number V>
tensor steps_of(V start, V end, V step, dtype type) {
  return with_type(type, [&]<class T>(std::type_identity<T>) -> tensor {
    if constexpr (std::same_as<T, bool>)
      throw dtype_error("arange: makes no bools: name a number type");
    else
      return kiln::arange<T>(start, end, step);
  });
}
KILN_INLINE tensor steps(double start, double end, double step, dtype type) {
  return steps_of(start, end, step, type);
}
KILN_INLINE tensor steps(std::int64_t start, std::int64_t end, std::int64_t step, dtype type) {
  return steps_of(start, end, step, type);
}

KILN_INLINE tensor spaced(double start, double end, std::int64_t steps, dtype type) {
  return with_floating_type(
      type, "linspace", [&]<class T>(std::type_identity<T>) { return tensor(kiln::linspace<T>(start, end, steps)); });
}

}  // namespace graph

KILN_INLINE tensor zeros(const dims& sizes, dtype type, device where) {
  const tensor made = empty(sizes, type, where);
  graph::functions_of(where).set_zero(*made.state());
  return made;
}
KILN_INLINE tensor ones(const dims& sizes, dtype type) {
  return graph::filled(sizes, std::int64_t{1}, type);
}
KILN_INLINE tensor eye(std::int64_t rows, std::int64_t columns, dtype type) {
  return with_type(type, [&]<class T>(std::type_identity<T>) { return tensor(kiln::eye<T>(rows, columns)); });
}
KILN_INLINE tensor rand(const dims& sizes, dtype type, generator& from) {
  return with_floating_type(type, "rand",
                            [&]<class T>(std::type_identity<T>) { return tensor(kiln::rand<T>(sizes, from)); });
}
KILN_INLINE tensor randn(const dims& sizes, dtype type, generator& from) {
  return with_floating_type(type, "randn",
                            [&]<class T>(std::type_identity<T>) { return tensor(kiln::randn<T>(sizes, from)); });
}
KILN_INLINE tensor randint(std::int64_t low, std::int64_t high, const dims& sizes, generator& from) {
  return kiln::randint(low, high, sizes, from);
}
KILN_INLINE tensor randperm(std::int64_t n, generator& from) {
  return kiln::randperm(n, from);
}

}  // namespace kiln::dynamic
