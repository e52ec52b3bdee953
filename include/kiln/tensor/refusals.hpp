// SPDX-License-Identifier: BSL-1.0
// What tensors are made and assigned of, checked: each check that fails is a sentence with the two types in it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/core/dtype.hpp>
#include <kiln/ops/op.hpp>

namespace kiln::detail {

/// What stands for a size that was refused, so that nothing else is said about it.
struct no_size {
  operator std::int64_t() const { return 0; }
};

/// A vector, array or span.
template <class R>
concept Values = !Operand<R> && requires(const R& r) {
  r.data();
  { r.size() } -> std::convertible_to<std::size_t>;
};

// Checks whose failure shows both types: compilers name the class that holds the sentence with its arguments.
template <class Expression, class Tensor>
struct same_dtype {
  static constexpr bool checked = true;
  static_assert(
      std::is_same_v<Expression, Tensor>,
      "kiln: the expression has another element type than the tensor it goes to: write cast<T>(...) around it");
};
template <class Expression, class Tensor>
struct same_device {
  static constexpr bool checked = true;
  static_assert(std::is_same_v<Expression, Tensor>, "kiln: the expression lives on another device: use .to<Device>()");
};
template <class Result, class Tensor>
struct dtype_in_place {
  static constexpr bool checked = true;
  static_assert(
      category<Result> <= category<Tensor> || std::is_same_v<Result, Tensor>,
      "kiln: an in-place operation cannot store its result's element type here: use a = cast<T>(...) instead");
};

}  // namespace kiln::detail
