// SPDX-License-Identifier: BSL-1.0
// New dynamic tensors: from memory, constant, in steps, at random.
#pragma once

#include <cstdint>
#include <type_traits>

#include <kiln/dynamic/tensor.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/random.hpp>

namespace kiln::dynamic {

/// Uninitialised elements. Throws shape_error for impossible sizes, memory_error.
tensor empty(const dims& sizes, dtype type = dtype::float32, device where = {});

/// A copy of elements in row-major order, of C++'s type for `type`. A bool that is neither 0 nor 1 is taken for true.
/// Throws value_error for a null pointer where there are elements.
tensor from_host(dtype type, const dims& sizes, const void* data, device where = {});

namespace graph {
/// The type of what is made of numbers, where none is named.
template <Number... V>
inline constexpr dtype type_of_numbers = dtype_of<detail::created_t<void, V...>>;
// Of a double or of an int64, all numbers.
tensor filled(const dims& sizes, double value, dtype type);
tensor filled(const dims& sizes, std::int64_t value, dtype type);
tensor steps(double start, double end, double step, dtype type);
tensor steps(std::int64_t start, std::int64_t end, std::int64_t step, dtype type);
tensor spaced(double start, double end, std::int64_t steps, dtype type);
/// A number as a double or an int64: two are compiled for, not all.
template <Number V>
auto widened(V value) {
  if constexpr (std::is_integral_v<V>)
    return detail::number_as<std::int64_t>(value, "a number");
  else
    return static_cast<double>(static_cast<compute_t<V>>(value));
}
}  // namespace graph

/// All elements one number; without a type that of the number: bool, int64 or float32. Throws value_error for a number
/// that an integer type does not hold.
template <Number V>
tensor full(const dims& sizes, V value, dtype type = graph::type_of_numbers<V>) {
  return graph::filled(sizes, graph::widened(value), type);
}
tensor zeros(const dims& sizes, dtype type = dtype::float32, device where = {});
tensor ones(const dims& sizes, dtype type = dtype::float32);

/// start, start + step, ... before end; without a type int64 for integers, else float32. Throws value_error for a step
/// of 0 or values that the type cannot hold, dtype_error for bool.
template <Number A, Number B, Number S = int>
tensor arange(A start, B end, S step = 1, dtype type = graph::type_of_numbers<A, B, S>) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && std::is_integral_v<S>)
    return graph::steps(graph::widened(start), graph::widened(end), graph::widened(step), type);
  else
    return graph::steps(static_cast<double>(start), static_cast<double>(end), static_cast<double>(step), type);
}
/// 0, 1, ... before end.
template <Number B>
tensor arange(B end, dtype type = graph::type_of_numbers<B>) {
  return arange(B(0), end, B(1), type);
}

/// `steps` numbers from start to end, both included. Throws value_error for a negative number of them, dtype_error for
/// an integer type.
template <Number A, Number B>
tensor linspace(A start, B end, std::int64_t steps, dtype type = dtype::float32) {
  return graph::spaced(static_cast<double>(start), static_cast<double>(end), steps, type);
}

/// Ones on the diagonal, zeros beside it; `columns` of -1 means square. Throws shape_error for a negative size.
tensor eye(std::int64_t rows, std::int64_t columns = -1, dtype type = dtype::float32);

/// Uniform numbers in [0, 1). Throws dtype_error for an integer type.
tensor rand(const dims& sizes, dtype type = dtype::float32, generator& from = default_generator());
/// Normally distributed numbers. Throws dtype_error for an integer type.
tensor randn(const dims& sizes, dtype type = dtype::float32, generator& from = default_generator());
/// Integers in [low, high). Throws value_error where there are none.
tensor randint(std::int64_t low, std::int64_t high, const dims& sizes, generator& from = default_generator());
/// 0 to n - 1 in random order.
tensor randperm(std::int64_t n, generator& from = default_generator());

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/creation_impl.hpp>
#endif
