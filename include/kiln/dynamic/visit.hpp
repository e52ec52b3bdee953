// SPDX-License-Identifier: BSL-1.0
// From an element type that is known while the program runs to one that the compiler knows: the one place where the
// layer's functions go over to those of Tensor<T>.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>

namespace kiln::dynamic {

/// Calls `f(std::type_identity<T>{})` with the C++ type of `type`, whichever it is. What f does is compiled ten times.
template <class F>
decltype(auto) with_type(dtype type, F&& f) {
  return visit_dtype(type, std::forward<F>(f));
}

/// The same of the four floating types. Throws dtype_error, naming `where`, for another.
template <class F>
decltype(auto) with_floating_type(dtype type, std::string_view where, F&& f) {
  switch (type) {
    case dtype::float16:
      return f(std::type_identity<half>{});
    case dtype::bfloat16:
      return f(std::type_identity<bfloat16>{});
    case dtype::float32:
      return f(std::type_identity<float>{});
    case dtype::float64:
      return f(std::type_identity<double>{});
    default:
      throw dtype_error(
          message(where, ": a tensor of ", name(type), " has no fractions: convert it with to(kiln::dtype::float32)"));
  }
}

/// The same of float32 and float64: what costs much to compile. Throws dtype_error, naming `where`, for another.
template <class F>
decltype(auto) with_float_or_double(dtype type, std::string_view where, F&& f) {
  if (type == dtype::float32) return f(std::type_identity<float>{});
  if (type == dtype::float64) return f(std::type_identity<double>{});
  throw dtype_error(message(where, ": takes float32 and float64, not ", name(type),
                            ": convert the tensor with to(kiln::dtype::float32)"));
}

}  // namespace kiln::dynamic
