// SPDX-License-Identifier: BSL-1.0
// layer_names: while it lives, what layers of a module refuse is told with their names in it, `fc1`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <kiln/nn/module.hpp>
#include <kiln/nn/watch.hpp>

namespace kiln::nn {

/// As long as it lives, errors of this thread about inputs that do not fit a layer of `module` begin with the layer's
/// name: `fc1: Linear(in_features=784, ...): got an input of shape ...`. The module must stay where it is meanwhile.
/// Those made later come first; they end in the opposite order.
class layer_names final : public detail::layer_naming {
 public:
  template <class M>
  explicit layer_names(const M& module) : all_(modules(module)), before_(std::exchange(detail::naming, this)) {}
  layer_names(const layer_names&) = delete;
  layer_names& operator=(const layer_names&) = delete;
  ~layer_names() { detail::naming = before_; }

 private:
  std::string name(const void* layer, std::string_view type) const override {
    for (const module_entry& entry : all_)
      if (entry.object == layer && entry.type == type && !entry.name.empty()) return entry.name;
    return before_ ? before_->name(layer, type) : std::string();
  }
  std::vector<module_entry> all_;
  const detail::layer_naming* before_;
};

}  // namespace kiln::nn
