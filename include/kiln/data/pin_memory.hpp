// SPDX-License-Identifier: BSL-1.0
// Pinned batches, without a header of CUDA: data/cuda.hpp says how tensors of the host are pinned.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::data::detail {

/// A contiguous copy in pinned memory; null until data/cuda.hpp is included by some part of the program.
inline ref<tensor_state> (*pinned_copy)(const tensor_state& values) = nullptr;

/// Moves the tensors of a batch into pinned memory. Throws device_error without data/cuda.hpp, and without a GPU.
template <class X>
void pin(X& value) {
  if constexpr (Leaf<X>) {
    if constexpr (std::is_same_v<typename X::device_type, Cpu>) {
      if (!pinned_copy)
        throw device_error("DataLoader: .pin_memory needs CUDA: include <kiln/data/cuda.hpp>, or leave it out");
      value = X(pinned_copy(*value.contiguous().state()));
    }
  } else if constexpr (requires { std::tuple_size<X>::value; }) {
    std::apply([](auto&... each) { (pin(each), ...); }, value);
  } else if constexpr (requires {
                         typename X::value_type;
                         value.begin();
                       }) {
    for (auto& each : value)
      if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(each)>, char>) pin(each);
  }
}

}  // namespace kiln::data::detail
