// SPDX-License-Identifier: BSL-1.0
// How views and the tensors whose elements they show share one history, as PyTorch's do. The base holds it. An in-place
// write to a view becomes a node of the base: the base with a part replaced. A view makes its own history of the base's
// when it is next asked for after the base got another.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// Renews the history of a view whose base got another.
inline void follow_base(tensor_state& view) {
  auto& v = static_cast<view_state&>(view);
  v.follow(v);
}

/// Whether the tensor is a view, of a view ..., of a leaf, and none itself.
bool shows_leaf(const tensor_state& t);

/// What takes the layout of a base to that of a view of it.
class layout_change {
 public:
  template <class F>
  explicit layout_change(const F& f)
      : object_(&f), call_([](const void* object, const layout& l) { return (*static_cast<const F*>(object))(l); }) {}
  layout operator()(const layout& l) const { return call_(object_, l); }

 private:
  const void* object_;
  layout (*call_)(const void*, const layout&);
};

/// A view of a tensor. `add` copies or adds gradients of such elements; null if they have none.
ref<tensor_state> new_view(const ref<tensor_state>& of, const runnable* add, const layout_change& change);

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/tensor/view_metadata_impl.hpp>
#endif
