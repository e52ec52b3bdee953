// SPDX-License-Identifier: BSL-1.0
// What layers tell about a forward pass while somebody watches: the sizes of their results; and who knows their names.
#pragma once

#include <string>
#include <string_view>

#include <kiln/core/dims.hpp>
#include <kiln/expr/shape.hpp>
#include <kiln/nn/members.hpp>

namespace kiln::nn::detail {

/// Is told the result's sizes by each layer that has computed one.
class layer_watch {
 public:
  virtual ~layer_watch() = default;
  /// `type` is the name of the layer's class, since a module lies where its first member does.
  virtual void result(const void* layer, std::string_view type, const dims& sizes) = 0;
};
/// Who watches this thread's layers.
inline constinit thread_local layer_watch* watching = nullptr;

/// Knows the names of layers.
class layer_naming {
 public:
  virtual ~layer_naming() = default;
  /// The path of a layer, or nothing.
  virtual std::string name(const void* layer, std::string_view type) const = 0;
};
/// Who knows those of this thread.
inline constinit thread_local const layer_naming* naming = nullptr;

/// The result of a layer, or what will compute it.
template <class L, class Y>
Y watched(const L* layer, Y y) {
  constexpr std::string_view type = short_name<L>();
  if (watching) watching->result(layer, type, shape_of(y));
  return y;
}

}  // namespace kiln::nn::detail
